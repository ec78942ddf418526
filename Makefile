# zedstore_io: plain PGXS for a server of your own
#
#   make PG_CONFIG=/path/to/pg_config
#   make install PG_CONFIG=...
#   make installcheck PG_CONFIG=...     (server must preload zedstore_io)
#
# and, for everybody else, targets that bring their own PostgreSQL; see
# "make help".  Objects go to the folder where make runs, which may be another one:
#
#   make -f /path/to/source/Makefile VPATH=/path/to/source PG_CONFIG=...

# The sources' folder.  PGXS takes VPATH for it, and has a "srcdir" of its own.
SOURCE := $(or $(patsubst %/,%,$(VPATH)),$(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST)))))
OUT_OF_TREE := $(if $(filter $(realpath $(SOURCE)),$(realpath .)),,yes)
ifneq ($(OUT_OF_TREE),)
VPATH ?= $(SOURCE)
endif
# Files of the source that match these patterns, as paths below it.
files_of = $(patsubst $(SOURCE)/%,%,$(sort $(wildcard $(addprefix $(SOURCE)/,$(1)))))

EXTENSION = zedstore_io
MODULE_big = zedstore_io
PGFILEDESC = "zedstore_io - columnar tables"

OBJS := $(patsubst %.c,%.o,$(call files_of,src/*.c src/*/*.c))
EXTRA_CLEAN = $(OBJS:.o=.d)
DATA := $(call files_of,sql/zedstore_io--*.sql)
# Installed into a folder of its own, docs/ below it, so that links between them work.
DOCS = README.md CHANGELOG.md LICENSE
DOCS_FOLDER := $(call files_of,docs/*.md docs/*.svg docs/*.yaml docs/*.json)
SCRIPTS := $(call files_of,scripts/zs_check_all)

# sql/ holds install scripts (with "--" in the name) and regression tests.
REGRESS := $(foreach file,$(call files_of,sql/*.sql),$(if $(findstring --,$(file)),,$(basename $(notdir $(file)))))
# In public, where tests find its functions whatever their search_path is; pg_regress puts the name
# into quotes.
REGRESS_OPTS = --load-extension='zedstore_io" SCHEMA "public' --encoding=UTF8 --no-locale
ISOLATION := $(basename $(notdir $(call files_of,specs/*.spec)))
ISOLATION_OPTS = $(REGRESS_OPTS)

PKG_CONFIG ?= pkg-config
LIBS_USED = liblz4 libzstd
PG_CPPFLAGS = -I$(SOURCE)/include $(shell $(PKG_CONFIG) --cflags $(LIBS_USED))
PG_CFLAGS = -MMD -MP
SHLIB_LINK = $(shell $(PKG_CONFIG) --libs $(LIBS_USED)) -lm -pthread
# io_uring, where there is one; "make LIBURING=" builds without
LIBURING ?= $(shell $(PKG_CONFIG) --exists 'liburing >= 2.2' && echo liburing)
ifneq ($(LIBURING),)
PG_CPPFLAGS += -DUSE_ZS_URING $(shell $(PKG_CONFIG) --cflags liburing)
SHLIB_LINK += $(shell $(PKG_CONFIG) --libs liburing)
endif

# Targets that must work where there is no supported pg_config yet.
HELPERS = help demo test lint setup server server-stop print-pg-config print-pg-config-release dist
HELPERS += $(if $(wildcard $(SOURCE)/scripts/difftest),difftest)
HELPERS += $(if $(wildcard $(SOURCE)/scripts/test-clients),test-clients)
HELPERS += $(if $(wildcard $(SOURCE)/scripts/test-package),test-package) $(if $(wildcard $(SOURCE)/scripts/test-rollback),test-rollback)
HELPERS += $(if $(wildcard $(SOURCE)/scripts/site),site site-check) $(if $(wildcard $(SOURCE)/scripts/compile-others),compile-others)
HELPERS += $(if $(wildcard $(SOURCE)/scripts/test-timescaledb),test-timescaledb) $(if $(wildcard $(SOURCE)/scripts/test-citus),test-citus)
HELPERS += $(if $(wildcard $(SOURCE)/bench/run),bench bench-io) $(if $(wildcard $(SOURCE)/fuzz/run),fuzz) $(if $(wildcard $(SOURCE)/scripts/core-suite),core-suite)

all:

.PHONY: $(HELPERS)

help:
	@echo "make demo                     heap and zedstore side by side, on a throwaway server"
	@echo "make test [PG=17] [TESTS=..]  all tests, or e.g. TESTS='sql/write_copy t/crash_commit.pl'"
	@echo "make lint                     layering and style of the source files"
	@echo "make server, server-stop      throwaway server with the extension preloaded"
	@echo "make setup                    only prepare PostgreSQL, both flavours"
	@echo "make print-pg-config          pg_config of the server with asserts, for tests"
	@echo "make print-pg-config-release  pg_config of the optimised server"
	@$(if $(filter test-clients,$(HELPERS)),echo "make test-clients             suites of Python's clients, heap against zedstore; needs PyPI",:)
	@$(if $(filter test-package,$(HELPERS)),echo "make test-package             Debian's packages, built and used on a Debian of their own; needs root",:)
	@$(if $(filter test-rollback,$(HELPERS)),echo "make test-rollback            an older release's library over files of this one",:)
	@$(if $(filter compile-others,$(HELPERS)),echo "make compile-others           by clang, for arm64, with musl; fuzzers on arm64 under an emulator",:)
	@$(if $(filter site,$(HELPERS)),echo "make site [SITE=folder]       HTML of the documents, into site/",:)
	@$(if $(filter site,$(HELPERS)),echo "make site-check [SITE=folder] looks at it in a headless browser",:)
	@echo "make dist [REPOSITORY=URL]    archives of the last commit, for PGXN and for packagers"
	@$(if $(filter bench,$(HELPERS)),echo "make bench                    the figures of docs/benchmarks.md",:)
	@$(if $(filter bench,$(HELPERS)),echo "make bench-io                 I/O workers against core on a throttled volume; needs root",:)
	@$(if $(filter fuzz,$(HELPERS)),echo "make fuzz                     fuzz codecs and pages",:)
	@$(if $(filter difftest,$(HELPERS)),echo "make difftest [SECONDS=..] [SEED=..]  an hour of random statements on heap and zedstore",:)
	@$(if $(filter core-suite,$(HELPERS)),echo "make core-suite               PostgreSQL's own tests with zedstore as the default",:)
	@$(if $(filter test-timescaledb,$(HELPERS)),echo "make test-timescaledb         beside TimescaleDB: TIMESCALEDB_SOURCE=/its/source/tree or installed",:)
	@$(if $(filter test-citus,$(HELPERS)),echo "make test-citus               under Citus: CITUS_SOURCE=/its/source/tree or installed",:)
	@echo "make, make install, make installcheck PG_CONFIG=...   for a server of your own"

demo:
	@$(SOURCE)/scripts/demo

test:
	@PG='$(PG)' $(SOURCE)/scripts/run-tests $(TESTS)

lint:
	@$(SOURCE)/scripts/check-layers

setup:
	@$(SOURCE)/scripts/setup-postgres $(if $(PG),--pg $(PG))

server:
	@$(SOURCE)/scripts/server start

server-stop:
	@$(SOURCE)/scripts/server stop

print-pg-config:
	@$(SOURCE)/scripts/setup-postgres --print assert $(if $(PG),--pg $(PG))

print-pg-config-release:
	@$(SOURCE)/scripts/setup-postgres --print release $(if $(PG),--pg $(PG))

ifneq ($(filter compile-others,$(HELPERS)),)
compile-others:
	@$(SOURCE)/scripts/compile-others
endif
ifneq ($(filter test-clients,$(HELPERS)),)
test-clients:
	@$(SOURCE)/scripts/test-clients $(TESTS)
endif
ifneq ($(filter test-package,$(HELPERS)),)
test-package:
	@$(SOURCE)/scripts/test-package $(SUITE)
endif
ifneq ($(filter test-rollback,$(HELPERS)),)
test-rollback:
	@PG='$(PG)' $(SOURCE)/scripts/test-rollback $(RELEASE)
endif
ifneq ($(filter site,$(HELPERS)),)
site:
	@$(SOURCE)/scripts/site $(SITE)

site-check: site
	@$(SOURCE)/scripts/site-check $(SITE)
endif

dist:
	@REPOSITORY='$(REPOSITORY)' $(SOURCE)/scripts/make-dist

ifneq ($(filter bench,$(HELPERS)),)
bench:
	@$(SOURCE)/bench/run $(BENCH)

bench-io:
	@$(SOURCE)/bench/io $(BENCH)
endif
ifneq ($(filter fuzz,$(HELPERS)),)
fuzz:
	@$(SOURCE)/fuzz/run $(FUZZ)
endif
# bash would take it for its own clock
unexport SECONDS
ifneq ($(filter difftest,$(HELPERS)),)
difftest:
	@PG='$(PG)' $(SOURCE)/scripts/difftest $(if $(SECONDS),--seconds=$(SECONDS)) $(if $(SEED),--seed=$(SEED)) $(DIFFTEST)
endif
ifneq ($(filter core-suite,$(HELPERS)),)
core-suite:
	@PG='$(PG)' $(SOURCE)/scripts/core-suite $(TESTS)
endif
ifneq ($(filter test-timescaledb,$(HELPERS)),)
test-timescaledb:
	@PG='$(PG)' $(SOURCE)/scripts/test-timescaledb $(TESTS)
endif
ifneq ($(filter test-citus,$(HELPERS)),)
test-citus:
	@PG='$(PG)' $(SOURCE)/scripts/test-citus $(TESTS)
endif

# Everything else is PGXS.
ifneq ($(if $(MAKECMDGOALS),$(filter-out $(HELPERS),$(MAKECMDGOALS)),all),)

PG_CONFIG ?= pg_config
PG_MAJOR := $(shell $(PG_CONFIG) --version 2>/dev/null | sed -nE 's/^PostgreSQL ([0-9]+).*/\1/p')
ifeq ($(filter 17 18 19,$(PG_MAJOR)),)
$(error zedstore_io needs PostgreSQL 17, 18 or 19, but $(PG_CONFIG) $(if $(PG_MAJOR),belongs to PostgreSQL $(PG_MAJOR),is not there). \
	Give PG_CONFIG=/path/to/pg_config, or try "make demo", which brings its own)
endif

# Tests do not depend on the server's configuration.
ifneq ($(filter-out 17 18,$(PG_MAJOR)),)
REGRESS_OPTS += --launcher=$(abspath $(SOURCE))/sql/include/plans.sh
endif
SETTINGS := $(addprefix $(SOURCE)/,$(call files_of,sql/include/settings.awk) $(call files_of,sql/include/settings.conf))
installcheck: export PGOPTIONS := $(if $(SETTINGS),$(shell awk -v major=$(PG_MAJOR) -f $(SETTINGS))) $(PGOPTIONS)

ifeq ($(shell $(PKG_CONFIG) --exists liblz4 libzstd && echo yes),)
$(error zedstore_io needs the lz4 and zstd libraries with headers and pkg-config (Debian: liblz4-dev libzstd-dev pkg-config))
endif

ifeq ($(and $(OBJS),$(DATA)),)
$(error there are no sources of zedstore_io in "$(SOURCE)"$(if $(VPATH), (VPATH)). \
	Give VPATH=/path/to/source to build in another folder, or run make in the source)
endif
# make would find the objects of a build in the source, and take them for up to date.
ifneq ($(and $(OUT_OF_TREE),$(filter-out clean distclean,$(or $(MAKECMDGOALS),all))),)
ifneq ($(call files_of,$(OBJS) $(OBJS:.o=.bc) $(MODULE_big).*o),)
$(error "$(SOURCE)" was built in itself; run "make clean" there before building in another folder)
endif
endif

PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# PGXS has one folder for the documents of all extensions, most of which have a README.md.
docmoduledir := $(EXTENSION)
ifdef docdir
DOCS_TARGET := $(DESTDIR)$(docdir)/$(docmoduledir)/docs
.PHONY: install-docs-folder uninstall-docs-folder
install: install-docs-folder
install-docs-folder:
	$(MKDIR_P) '$(DOCS_TARGET)'
	$(INSTALL_DATA) $(addprefix $(srcdir)/,$(DOCS_FOLDER)) '$(DOCS_TARGET)/'
uninstall: uninstall-docs-folder
uninstall-docs-folder:
	rm -f $(addprefix '$(DOCS_TARGET)'/,$(notdir $(DOCS_FOLDER)))
endif

# PGXS removes scripts by their paths in the source.
.PHONY: uninstall-scripts
uninstall: uninstall-scripts
uninstall-scripts:
	rm -f $(addprefix '$(DESTDIR)$(bindir)'/,$(notdir $(SCRIPTS)))

# PGXS does not track header dependencies, unless the server was configured with --enable-depend.
DEPENDENCIES := $(wildcard $(OBJS:.o=.d))
-include $(DEPENDENCIES)
$(filter-out $(DEPENDENCIES:.d=.o),$(OBJS)): $(call files_of,include/*.h src/*/*.h)

# Bitcode for JIT has no list of headers of its own; it is as old as the object.
$(OBJS:.o=.bc): %.bc: %.o

# Paths from the root, since make finds those below the source, too.
OBJECT_FOLDERS := $(addprefix $(CURDIR)/,$(sort $(dir $(OBJS))))
$(OBJS): | $(OBJECT_FOLDERS)
$(OBJECT_FOLDERS):
	$(MKDIR_P) '$@'

endif
