/*
 * wal_vectors.c
 *	  WAL records of zedstore as text, and back into the WAL: for t/format_wal.pl.
 *
 * A line is one record: transaction id, info, main data, and for each block its number, the table
 * (position in the array given), fork, block number, flags (i image, w page is made anew), image and
 * data.  Bytes are in hex, "-" is none.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "access/xlog_internal.h"
#include "access/xloginsert.h"
#include "access/xlogreader.h"
#include "access/xlogutils.h"
#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/pg_lsn.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#if PG_VERSION_NUM >= 190000
#define find_record(reader, start, error)	XLogFindNextRecord((reader), (start), (error))
#else
#define find_record(reader, start, error)	XLogFindNextRecord((reader), (start))
#endif

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(wal_vectors_read);
PG_FUNCTION_INFO_V1(wal_vectors_write);

#define ZS_RMGR		158
#define MAX_TABLES	10

static int
locators(ArrayType *array, RelFileLocator *result)
{
	Datum	   *oids;
	int			n;

	deconstruct_array_builtin(array, OIDOID, &oids, NULL, &n);
	if (n > MAX_TABLES)
		elog(ERROR, "too many tables");
	for (int i = 0; i < n; i++)
	{
		Relation	rel = relation_open(DatumGetObjectId(oids[i]), AccessShareLock);

		result[i] = rel->rd_locator;
		relation_close(rel, AccessShareLock);
	}
	return n;
}

static void
put_hex(StringInfo text, const char *bytes, Size len)
{
	appendStringInfoChar(text, ' ');
	if (len == 0)
		appendStringInfoChar(text, '-');
	enlargeStringInfo(text, len * 2);
	hex_encode(bytes, len, text->data + text->len);
	text->len += len * 2;
	text->data[text->len] = '\0';
}

/*
 * Records of the tables from one LSN up to another; LOGICAL ones, which name no block, by what
 * their data begins with.
 */
Datum
wal_vectors_read(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	XLogRecPtr	start = PG_GETARG_LSN(0);
	XLogRecPtr	end = PG_GETARG_LSN(1);
	RelFileLocator tables[MAX_TABLES];
	int			ntables = locators(PG_GETARG_ARRAYTYPE_P(2), tables);
	XLogReaderState *reader;
	char	   *error;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	reader = XLogReaderAllocate(wal_segment_size, NULL,
								XL_ROUTINE(.page_read = &read_local_xlog_page_no_wait,
										   .segment_open = &wal_segment_open,
										   .segment_close = &wal_segment_close),
								palloc0(sizeof(ReadLocalXLogPageNoWaitPrivate)));
	if (XLogRecPtrIsInvalid(find_record(reader, start, &error)))
		elog(ERROR, "no WAL at the start");
	while (XLogReadRecord(reader, &error) != NULL && reader->ReadRecPtr < end)
	{
		StringInfoData line;
		bool		ours = true;
		Datum		value;
		bool		isnull = false;

		if (XLogRecGetRmid(reader) != ZS_RMGR)
			continue;
		initStringInfo(&line);
		appendStringInfo(&line, "%u %u", XLogRecGetXid(reader),
						 XLogRecGetInfo(reader) & XLR_RMGR_INFO_MASK);
		put_hex(&line, XLogRecGetData(reader), XLogRecGetDataLen(reader));
		for (int id = 0; id <= XLogRecMaxBlockId(reader); id++)
		{
			RelFileLocator locator;
			ForkNumber	fork;
			BlockNumber blkno;
			PGAlignedBlock image;
			bool		has_image;
			Size		len;
			char	   *data;
			int			table;

			if (!XLogRecGetBlockTagExtended(reader, id, &locator, &fork, &blkno, NULL))
				continue;
			for (table = 0; table < ntables; table++)
			{
				if (RelFileLocatorEquals(tables[table], locator))
					break;
			}
			if (table == ntables)
			{
				ours = false;
				break;
			}
			has_image = XLogRecHasBlockImage(reader, id) && XLogRecBlockImageApply(reader, id);
			if (has_image && !RestoreBlockImage(reader, id, image.data))
				elog(ERROR, "could not restore an image");
			data = XLogRecGetBlockData(reader, id, &len);
			appendStringInfo(&line, " %d %d %d %u %s%s.", id, table, fork, blkno,
							 has_image ? "i" : "",
							 (XLogRecGetBlock(reader, id)->flags & BKPBLOCK_WILL_INIT) ? "w" : "");
			put_hex(&line, image.data, has_image ? BLCKSZ : 0);
			put_hex(&line, data, data == NULL ? 0 : len);
		}
		if (!ours)
			continue;
		value = CStringGetTextDatum(line.data);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, &value, &isnull);
	}
	return (Datum) 0;
}

/* The next word of a line. */
static char *
next_word(char **line)
{
	char	   *word = strsep(line, " ");

	if (word == NULL)
		elog(ERROR, "line ends too early");
	return word;
}

static char *
next_bytes(char **line, Size *len)
{
	char	   *word = next_word(line);
	char	   *bytes;

	*len = 0;
	if (strcmp(word, "-") == 0)
		return NULL;
	bytes = palloc(strlen(word) / 2 + 1);
	*len = hex_decode(word, strlen(word), bytes);
	return bytes;
}

/* Logs the record of a line for these tables, as one of the transaction that runs. */
Datum
wal_vectors_write(PG_FUNCTION_ARGS)
{
	char	   *line = text_to_cstring(PG_GETARG_TEXT_PP(0));
	RelFileLocator tables[MAX_TABLES];
	int			ntables = locators(PG_GETARG_ARRAYTYPE_P(1), tables);
	TransactionId xid = (TransactionId) strtoul(next_word(&line), NULL, 10);
	uint8		info = (uint8) atoi(next_word(&line));
	Size		len;
	char	   *bytes = next_bytes(&line, &len);

	if (xid != GetCurrentTransactionIdIfAny())
		elog(ERROR, "record of transaction %u, but this is %u", xid,
			 GetCurrentTransactionIdIfAny());
	XLogEnsureRecordSpace(XLR_MAX_BLOCK_ID, 100);
	XLogBeginInsert();
	if (len > 0)
		XLogRegisterData(bytes, len);
	while (line != NULL)
	{
		int			id = atoi(next_word(&line));
		int			table = atoi(next_word(&line));
		ForkNumber	fork = (ForkNumber) atoi(next_word(&line));
		BlockNumber blkno = (BlockNumber) strtoul(next_word(&line), NULL, 10);
		char	   *flags = next_word(&line);
		uint8		registered = strchr(flags, 'i') ? REGBUF_FORCE_IMAGE : REGBUF_NO_IMAGE;
		/* read by XLogInsert() */
		char	   *page = palloc0(BLCKSZ);

		if (table >= ntables)
			elog(ERROR, "no such table");
		if (strchr(flags, 'w'))
			registered |= REGBUF_WILL_INIT;
		if (fork == MAIN_FORKNUM && strchr(flags, 'i'))
			registered |= REGBUF_STANDARD;
		bytes = next_bytes(&line, &len);
		if (bytes != NULL)
			memcpy(page, bytes, BLCKSZ);
		XLogRegisterBlock(id, &tables[table], fork, blkno, page, registered);
		bytes = next_bytes(&line, &len);
		if (bytes != NULL)
			XLogRegisterBufData(id, bytes, len);
	}
	PG_RETURN_LSN(XLogInsert(ZS_RMGR, info));
}
