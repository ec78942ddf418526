/*-------------------------------------------------------------------------
 *
 * zedstore_io.c
 *	  Module start.
 *
 * The library has to be preloaded: a resource manager can only be registered
 * by the postmaster, and recovery needs it.  Loaded later, by a session that
 * looks at a zedstore table, it defines its settings and refuses everything else
 * with a hint.
 *
 * Loading itself is refused where that would lead to a half of something: to an
 * extension whose objects are not where a server that preloads the library puts
 * them (CREATE EXTENSION), and to an upgrade that stops in the middle.  All that
 * pg_upgrade's check asks of a new cluster is that libraries can be loaded.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/zedstore_io.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/extension.h"
#include "fmgr.h"
#include "miscadmin.h"

#include "hooks.h"
#include "zs_am.h"
#include "zs_base.h"
#include "zs_compat.h"
#include "zs_expr_guc.h"
#include "zs_io.h"
#include "zs_join.h"
#include "zs_node.h"
#include "zs_page.h"
#include "zs_scan.h"
#include "zs_tid.h"
#include "zs_wal.h"

ZS_MODULE_MAGIC("zedstore_io", ZS_VERSION);

void		_PG_init(void);

void
_PG_init(void)
{
	if ((IsBinaryUpgrade || creating_extension) &&
		!process_shared_preload_libraries_in_progress)
		zsbase_require_preload();

	zsbase_set_table_am(&zs_table_am_routine);
	zsbase_guc_init();
	zsio_guc_init();
	zsexpr_guc_init();
	zsbase_guc_reserve();
	if (!process_shared_preload_libraries_in_progress)
		return;

	zsbase_inval_init();
	zswal_rmgr_init();
	zspage_exchange_init();
	zstid_unseen_init();
	zsscan_fetch_init();
	zsnode_register();
	zsjoin_adaptive_register();
	zsjoin_tap_register();
	zsio_init();
	zshooks_install();
	zs_preloaded = true;
}
