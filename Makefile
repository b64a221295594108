# Shortcuts; the build itself is CMake's. P names a preset:
# dev release asan tsan clang llvm19 fuzz coverage.
P ?= dev
B = build/$(P)
JOBS ?= $(shell nproc)

build: $(B)/build.ninja
	ninja -C $(B) -j $(JOBS)

$(B)/build.ninja: CMakePresets.json tools/install-deps.sh
	tools/install-deps.sh $(filter-out dev release asan tsan,$(P))
	cmake --preset $(P)

deps:
	tools/install-deps.sh

# The main job: compile an example kernel, run it, check the result.
run: deps build
	tools/run-example.sh $(B)

check: deps build
	tools/run-tests.sh $(B)

check-long: deps build
	KILN_TEST_LONG=1 tools/run-tests.sh $(B)

# make bench ONLY="sgemm_tiled mandelbrot" RUNS=5
bench:
	tools/install-deps.sh bench
	@test -f $(B)/build.ninja || cmake --preset $(P)
	cmake -S . -B $(B) -DKILN_BENCH=ON
	ninja -C $(B) -j $(JOBS)
	tools/run-bench.sh $(B) $(ONLY)

# What the parser and the code generator take of the toolkit's libraries:
# make ptx-coverage ARGS="--objects 100 --seed 7"
# make ptx-coverage ARGS="--run --each 60": kernels of them on the CPU device
ptx-coverage: build
	tests/coverage/run.sh $(B)/bin/ptx_coverage $(ARGS)

# New answers of the toolkit's assembler for tests/ptxas.
ptxas-answers:
	python3 tests/ptxas/judge.py 1 10000 > $(B)/answers.txt
	mv $(B)/answers.txt tests/ptxas/answers.txt

# Mutants of PTX through the code generator: another FIRST gives others.
mutants: build
	mkdir -p $(B)/mutants
	$(B)/bin/mutants --first $(or $(FIRST),1000) --count $(or $(COUNT),10000) \
	    --workers $(JOBS) --keep $(B)/mutants \
	    $(if $(filter dev release,$(P)),--run $(B)/lib/libkiln-cpu.so) \
	    tests/jit/corpus tests/api tests/tensor tests/golden/ptx \
	    $(B)/fuzz/seeds/ptx $(B)/fuzz/kept/ptx $(B)/fuzz/seeds/ptx

# Every instruction against what an NVIDIA GPU answered: docs/fidelity.md.
fidelity: deps build
	KILN_CACHE_DISABLE=1 $(B)/bin/fidelity \
	    --answers tests/fidelity/nvidia-sm90-580.answers

# Random programs in every mode of the device, against an NVIDIA GPU's answers:
# make random FIRST=1 COUNT=1000; EDITION=2 has no answers.
MODES = cpu cpu,1 cpu,O0 cpu,avx2 cpu,avx2,O0 cpu,sse4.2 cpu,sse4.2,O0
random: deps build
	$(B)/bin/random --first $(or $(FIRST),1) --count $(or $(COUNT),12000) \
	    $(if $(filter 2,$(EDITION)),--edition 2, \
	    --answers tests/random/nvidia-sm90-580.answers) \
	    --jobs $(JOBS) $(MODES:%=--device %) --keep $(B)

fuzz:
	tools/install-deps.sh fuzz
	cmake --preset fuzz
	ninja -C build/fuzz -j $(JOBS)
	fuzz/run.sh build/fuzz $(or $(RUNS_EACH:%=%x),$(SECONDS_EACH),60)

# Branches of each reader; one file's: tools/coverage.sh build/coverage FILE
coverage:
	tools/install-deps.sh
	cmake --preset coverage
	ninja -C build/coverage -j $(JOBS)
	tools/coverage.sh build/coverage

format:
	tools/format.sh

tidy: build
	run-clang-tidy -quiet -p $(B) -j $(JOBS) 'src/|cpu/|runtime/'

clean:
	rm -rf build

.PHONY: build deps run check check-long bench fidelity random fuzz coverage ptx-coverage ptxas-answers mutants format tidy clean
