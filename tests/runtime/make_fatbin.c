/* SPDX-License-Identifier: MIT
 *
 * make_fatbin PTX FATBIN: packs one PTX file, as the compilers' own tool
 * would, with Kiln's writer.
 */
#include <stdio.h>

#include "base/file.h"
#include "image/fatbin.h"
#include "image/ptx_header.h"

int main(int argc, char **argv)
{
    struct buffer ptx = {0};
    struct buffer out = {0};
    struct ptx_header header;
    struct fatbin_item item = {.kind = FATBIN_PTX,
                               .packing = FATBIN_PACKED_ZSTD};
    struct kiln_error err;

    if (argc != 3)
        return 2;
    if (file_read(argv[1], 0, &ptx, &err) ||
        ptx_header_read(ptx.bytes, ptx.size, &header, &err)) {
        fprintf(stderr, "%s: %s\n", argv[1], err.text);
        return 1;
    }
    item.sm = header.sm;
    item.major = header.major;
    item.minor = header.minor;
    item.payload = ptx.bytes;
    item.size = ptx.size;
    if (fatbin_write(&item, 1, &out, &err) ||
        file_write(argv[2], out.bytes, out.size, &err)) {
        fprintf(stderr, "%s: %s\n", argv[2], err.text);
        return 1;
    }
    buffer_fini(&ptx);
    buffer_fini(&out);
    return 0;
}
