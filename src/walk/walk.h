/* SPDX-License-Identifier: MIT
 *
 * The load walk: which image of several a device takes, and why each other
 * one is not taken. A pure function of its arguments: no I/O, no driver, no
 * allocation. The CPU driver loads by it, libkiln predicts and explains by
 * it. It must not know src/image: callers describe their images.
 *
 * Policy `driver` is NVIDIA's own choice and result, quirks included, as
 * measured on a device of compute capability 9.0. What that device could not
 * show (a cubin of a lower minor number, families, integrated devices) is by
 * the compatibility manual and not verified. Policy `best` is the rule that
 * one would want: it passes over what cannot work.
 */
#ifndef KILN_WALK_WALK_H
#define KILN_WALK_WALK_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum walk_kind {
    WALK_PTX,
    WALK_CUBIN,  /* NVIDIA's machine code, SASS */
    WALK_OBJECT, /* the CPU driver's own object */
    WALK_LTO,
    WALK_UNKNOWN
};

/* What is wrong with an image, as far as its describer looked. */
enum walk_defect {
    WALK_SOUND,
    WALK_NOT_ELF,     /* a cubin entry that is no cubin, or is damaged */
    WALK_NOT_PTX,     /* a PTX entry without .version and .target */
    WALK_NOT_UNPACKED /* the payload does not decompress */
};

struct walk_image {
    enum walk_kind kind;
    int raw;      /* handed over by itself, not in a container */
    uint32_t sm;  /* in the container's entry; raw: the image's own */
    char variant; /* 'a', 'f' or 0; likewise */
    /* What the image itself says, PTX text or ELF header; text_sm 0: not
     * looked at, and then the container is believed. */
    uint32_t text_sm;
    char text_variant;
    uint16_t ptx_major;    /* PTX: .version of the text, or if text_sm is 0 */
    uint16_t ptx_minor;    /* the container's; LTO IR: the container's */
    uint64_t global_bytes; /* of its global variables; 0: not known. Held
                              against all memory: what is free is the load's */
    enum walk_defect defect;
    int object_fits;  /* WALK_OBJECT: this CPU and build can run it */
    const char *note; /* why not, for the reason's text; may be NULL */
};

enum walk_isa { WALK_ISA_SASS, WALK_ISA_HOST };

struct walk_device {
    enum walk_isa isa;
    uint32_t sm; /* 90; 121 */
    int integrated;
    int driver_version; /* 13000; used where ptx_major is 0 */
    uint16_t ptx_major; /* newest PTX that its JIT assembles */
    uint16_t ptx_minor;
    uint64_t memory; /* bytes; 0: not known */
};

enum walk_policy { WALK_DRIVER, WALK_BEST };

struct walk_options {
    enum walk_policy policy;
    int force_ptx;   /* CUDA_FORCE_PTX_JIT */
    int disable_jit; /* CUDA_DISABLE_PTX_JIT */
    int no_compiler; /* the JIT compiler cannot be loaded */
    int prefer_ptx;  /* CU_JIT_FALLBACK_STRATEGY is CU_PREFER_PTX */
    uint32_t target; /* CU_JIT_TARGET, 80; 0: the device's */
};

enum walk_reason {
    WALK_TAKEN,
    WALK_LESS,         /* would do; another one is better (rank tells) */
    WALK_OTHER_ISA,    /* SASS on the CPU, an object on a GPU */
    WALK_OTHER_SM,     /* a cubin for another major, or a higher minor */
    WALK_OTHER_ARCH,   /* an "a" image for another device */
    WALK_OTHER_FAMILY, /* an "f" image outside its family */
    WALK_TARGET_ABOVE, /* PTX for a higher target */
    WALK_PTX_TOO_NEW,  /* PTX version above the JIT's */
    WALK_FORCED_PTX,   /* a cubin passed over: PTX is forced */
    WALK_JIT_OFF,      /* PTX, and the JIT is disabled */
    WALK_NO_JIT,       /* PTX, and there is no JIT compiler */
    WALK_KIND,         /* LTO IR, or an unknown kind */
    WALK_DAMAGED,      /* not what it claims to be */
    WALK_MISLABELLED,  /* the container and the image disagree */
    WALK_OBJECT_UNFIT, /* an object of another build or CPU */
    WALK_TOO_LARGE,    /* its variables are more than the device's memory */
    WALK_REASON_COUNT
};

/* A hostile container has an entry for each 64 bytes: what is kept of one is
 * small, and its sentence is made when it is wanted. */
struct walk_verdict {
    enum walk_reason reason;
    uint8_t rank;       /* 1: taken, 2: next best ... 16: usable, further down;
                           0: cannot be used */
    uint8_t unverified; /* by the compatibility manual, seen on no device */
};

struct walk_result {
    int chosen;              /* index, also when status is a failure of the
                                chosen image; -1: none fits */
    enum kiln_status status; /* what the load gives, as far as known */
    int compiles;            /* the chosen one goes through the JIT */
    int target_ignored;      /* best: CU_JIT_TARGET is not for this device */
    char text[252];          /* the failure as a sentence, or the choice */
};

/* Fills verdicts[count] and *result. Up to any count; count 0 is E_NO_BINARY.
 */
void walk(const struct walk_image *images, size_t count,
          const struct walk_device *device, const struct walk_options *options,
          struct walk_verdict *verdicts, struct walk_result *result);

/* The verdict as a sentence: fact found and fact needed, at most 183
 * characters. After walk(), of the same arguments. */
enum { WALK_TEXT = 184 };
void walk_text(const struct walk_image *image, const struct walk_device *device,
               const struct walk_options *options,
               const struct walk_verdict *verdict, char text[WALK_TEXT]);

/* What will happen, as a sentence: "this load will be compiled by the driver:
 * no cubin for sm_90, PTX 7.0 for compute_70". After walk(), of the same
 * arguments. */
void walk_predict(const struct walk_image *images, size_t count,
                  const struct walk_device *device,
                  const struct walk_options *options,
                  const struct walk_verdict *verdicts,
                  const struct walk_result *result, char *text, size_t size);

const char *walk_reason_name(enum walk_reason reason); /* "target-above" */

/* Whether code made for CU_JIT_TARGET `target` runs on the device. Policy best
 * goes by the device where it does not: NVIDIA's driver would compile, and
 * then refuse its own result. */
int walk_target_runs(uint32_t target, const struct walk_device *device);

/* Whether code compiled for (sm, variant) may run on the device as PTX's
 * .target: at or below it, "a" on exactly it, "f" within the family. */
int walk_target_fits(uint32_t sm, char variant, uint32_t device_sm);

/* One CUDA release (releases.def). */
struct walk_release {
    uint16_t cuda;      /* 1204 */
    uint16_t ptx_major; /* newest PTX it writes and its driver assembles */
    uint16_t ptx_minor;
    uint16_t driver; /* least driver branch on Linux: 550; 0: not known */
};

/* The newest release at or below a driver's CUDA version (cuDriverGetVersion:
 * 12040), or NULL before the first. */
const struct walk_release *walk_release_of(int driver_version);
/* Whether the table goes as far: of a newer driver than those in it, what PTX
 * it takes cannot be said, and none is refused as too new. */
int walk_release_is_known(int driver_version);
/* The first release whose driver knows the device (targets.def), as 1204; 0:
 * one before the table's, -1: there is no such target. */
int walk_release_for_sm(unsigned sm);
/* The first release that takes this PTX version, or NULL: none known. */
const struct walk_release *walk_release_for_ptx(unsigned major, unsigned minor);

#endif
