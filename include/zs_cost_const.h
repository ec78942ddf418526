/*-------------------------------------------------------------------------
 *
 * zs_cost_const.h
 *	  The constants of the planner's costs, and what they were measured by.
 *
 * Where nothing else is said a constant is processor time of an optimised build, with the planner's
 * settings as they are by default: the row of a sequential scan with its aggregate takes some 70
 * ns, of which core charges 0.0125, so a unit of cost is some 5 us, and 0.0002 is a nanosecond.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_cost_const.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_COST_CONST_H
#define ZS_COST_CONST_H

#include "postgres.h"

#include "access/htup_details.h"

#include "zs_base.h"

#define ZS_COST_STRIPE_ROWS		((double) ZS_STRIPE_ROWS)

/* ---- programs over a batch -------------------------------------------------- */

/*
 * Comparing a value of a vector with another one (0.5 ns: a loop of the kernel), adding it or
 * putting it into another vector (1 ns), the same with numerics as integers.
 */
#define ZS_COST_PER_CLAUSE		0.0001
#define ZS_COST_PER_VALUE		0.0002
#define ZS_COST_PER_NUMERIC		0.0004

/* Comparing two strings, one of them a constant. */
#define ZS_COST_PER_STRING		0.0005

/* Beginning a scan by batches (2 us: the filter's parameters become constants of programs). */
#define ZS_COST_BEGIN_BATCHES	0.5

/*
 * Asking a segment's zone map, while the plan is made and by the scan.  A path that costs less than
 * ZS_COST_OF_ZONES is not worth to ask them all: it is one of a few look-ups by index.
 */
#define ZS_COST_PER_SEGMENT		0.05
#define ZS_COST_OF_ZONES		50.0

/*
 * A scan that is begun for each row of another relation (47 us, against 5 of a look-up by index
 * that core counts as 8.4), which is offered for columns of which one value lies in less than this
 * share of the vectors.
 */
#define ZS_COST_OF_LOOKUP		20.0
#define ZS_LOOKUP_SHARE			0.25

/* Members of an array that is not known yet, as core has it (estimate_array_length()). */
#define ZS_UNKNOWN_MEMBERS		10

/* ---- values that are fetched one by one ------------------------------------- */

/*
 * Measured as processor time of fetches by index, see cost_index.c.  One value decoded alone: of
 * fixed length or numeric; a string, and each of its bytes.
 */
#define ZS_COST_SINGLE_FIXED	0.22
#define ZS_COST_SINGLE_STRING	0.40
#define ZS_COST_SINGLE_BYTE		0.002

/*
 * A vector of 1024 values: of fixed length, numeric, strings with few different values, other
 * strings of so many bytes or fewer; longer ones cost more in proportion.
 */
#define ZS_COST_VECTOR_FIXED	0.15
#define ZS_COST_VECTOR_NUMERIC	0.8
#define ZS_COST_VECTOR_FEW		0.3
#define ZS_COST_VECTOR_STRING	4.0
#define ZS_STRING_WIDTH			32.0

/* Strings that take fewer bytes on average are codes of a dictionary, mostly. */
#define ZS_FEW_VALUES_WIDTH		3.0

/*
 * Strings that take less than this part of their width on disk are compressed by LZ4 or zstd,
 * mostly.  Of such a vector no value is to be had without undoing that, which takes so much for a
 * byte.  The bytes stay in memory when they are looked at a second time, while those of all vectors
 * have room (attr_body.c).
 */
#define ZS_PACKED_SHARE			0.35
#define ZS_COST_UNPACKED_BYTE	0.00004
#define ZS_UNPACKED_KEPT		(16.0 * 1024 * 1024)
#define ZS_UNPACKED_LOOKS		2

/* Making a reader that keeps a vector (scan_source_reader.c). */
#define ZS_COST_KEPT_READER		1.2

/* A value of a vector that is decoded already. */
#define ZS_COST_DECODED			0.01

/* What btcostestimate() multiplies the correlation of an index of several columns with. */
#define ZS_MULTICOLUMN_FACTOR	0.75

/* So many values are decoded alone before the vector is (VALUES_BEFORE_VECTOR of attr_value.c). */
#define ZS_SINGLE_VALUES		3

/* ---- plans by batches beside plans by rows ---------------------------------- */

/*
 * Core's nodes decode the same vectors and are not charged for it.  So a plan by batches is charged
 * no more than this share of their processor time, which was measured where all rows pass a filter
 * and columns are dear to decode.
 */
#define ZS_SHARE_OF_ROWWISE		0.85

/* Without clauses a scan is as fast, and ahead as soon as a join's filter removes some rows. */
#define ZS_SHARE_WITHOUT_CLAUSES	0.97

/*
 * Rows of the row tree have no vectors yet.  This is what batches of them cost, compared with what
 * core's nodes are charged for the same work on rows: less, so that they are taken, but no less
 * than the planner can tell apart; so indexes are used as on heap.
 */
#define ZS_SHARE_OF_ROWS		0.98

/*
 * Tables with fewer rows are read in no time, in any way.  Row numbers of so many times the rows
 * that a table is believed to have say that statistics are wrong.
 */
#define ZS_FEW_ROWS				1000
#define ZS_WRONG_FACTOR			10

/* Of core's cost of a row, what a top-N scan takes that looks at its keys only. */
#define ZS_SHARE_OF_KEYS		0.5

/* ---- rows in the order of columns -------------------------------------------- */

/* A row that is copied to a run (25 ns), and each further column of it (28 ns), beside the scan. */
#define ZS_COST_PER_COPY		0.005
#define ZS_COST_PER_COPIED_COLUMN	0.0055

/* Opening the head of a segment of a column that is in memory (1.2 us). */
#define ZS_COST_PER_HEAD		0.25

/*
 * Of what core charges for a WindowAgg, what takes ranking functions without a tuplestore: 19 of
 * 147 ns for a row, a partition by one column and an order by another one.
 */
#define ZS_COST_WINDOW_SHARE	0.15

/* Looking at a segment's zone map that is in memory (0.1 us), while the plan is made. */
#define ZS_COST_PER_LOOK		0.02

/* ---- aggregates ------------------------------------------------------------- */

/* What a key and an aggregate cost a row, and a look into the table of groups, near or far. */
#define ZS_COST_PER_AGG			0.0002
#define ZS_COST_PER_KEY			0.0004
#define ZS_COST_PROBE			0.001
#define ZS_COST_FAR_PROBE		0.005
#define ZS_LARGE_TABLE			10000	/* groups: the table is far */

/* What a group takes beside its keys and its aggregates' values, in bytes. */
#define ZS_GROUP_SIZE			40

/* Rows are in the order of a key where its correlation with their places is at least this. */
#define ZS_KEY_ORDER			0.98

/*
 * A row of a plan of core's, and each of its columns.  Core's Agg node is charged cpu_operator_cost
 * for each key and each aggregate, which is a third of what it takes; so are these.
 */
#define ZS_COST_PER_INPUT_ROW	0.001
#define ZS_COST_PER_INPUT_COLUMN	0.0003

/*
 * Joins by batches: a row that is put into a table by columns, with its key (15 to 50 ns), and what
 * it takes more where keys are not one integer (probe_pack.c; 150 ns).  Looks into it are those
 * into the table of groups.
 */
#define ZS_COST_PER_BUILD_ROW	0.006
#define ZS_COST_PER_BUILD_GROUP	0.03

/*
 * A table that memory has no room for is made in so many parts at most, for each of which both
 * sides are read again.  800,000 rows joined with 120,000 took 0.30 of the time of core's join in
 * three parts.
 */
#define ZS_JOIN_PARTS			8

/*
 * ... but not a scan whose expressions core charges more for, for each row.  A function in a
 * procedural language is 0.25, and takes 8 us: several times as long as core's way over files.
 */
#define ZS_DEAR_EXPRESSIONS		0.1

/*
 * So many times parallel_setup_cost workers cost more that aggregate by batches.  They take 6 to 9
 * ms to begin and to end: catalogs are read, each page of shared buffers is mapped anew.  That is
 * so for core's workers, too, but of units of 5 us, while a unit of batches takes 2.4 us (TPC-DS's
 * Q3, Q42, Q53, Q63: 18 to 30 ms in one process, 1.1 to 1.7 times as long with two workers).
 */
#define ZS_WORKERS_SHARE		2.5

/*
 * So many times the cost of joining row by row it may have to join by batches: that is believed to
 * be dear since a table is read by each process, and to gain little where few rows are expected.
 */
#define ZS_BATCHES_REGRET_FACTOR	1.25

/*
 * ... and so many times where rows are joined by workers below, who divide what core charges by 2.4
 * if there are two.  With as many processors as processes they take half as long for it, and hand
 * over rows.  Of TPC-H's Q10, Q14 and Q21 and TPC-DS's Q11 a unit of cost of one process by
 * batches took 2.4 to 6 us, one of three processes row by row 7 to 26, on two processors.
 */
#define ZS_WORKERS_REGRET_FACTOR	2.5

/*
 * Making a row of a group, and taking it of another process, which reads it, looks for its group
 * and adds its states; each state, and more for an image.  Sending it is in parallel_tuple_cost.
 */
#define ZS_COST_PER_PART		0.1
#define ZS_COST_PER_STATE		0.005
#define ZS_COST_PER_IMAGE		0.015

/*
 * What core is not charged with: a state of type internal is serialized, read again and combined as
 * a number of many digits.
 */
#define ZS_COST_PER_SERIAL		0.1

/* ---- look-ups by key -------------------------------------------------------- */

/* With this many rows one that a unique index leads to is never better found by a scan. */
#define ZS_LOOKED_UP_ROWS		1000

/* ---- filters from joins ----------------------------------------------------- */

/* Noting a key while the hash table is made. */
#define ZS_COST_PER_NOTED_KEY	0.0015

/* Looking for a value among a join's keys; rather more, since core overrates look-ups by index. */
#define ZS_COST_PER_JOIN_KEY	0.0012

/* ... a string costs so many times an integer. */
#define ZS_STRING_KEY_FACTOR	3.0

/* Coming to a vector whose zone map says that no row has a partner. */
#define ZS_COST_PER_LEFT_OUT	0.05

/* Of rows without a partner so many pass all the same. */
#define ZS_PASSES_FALSELY		0.02

/* Less than this is not worth further paths: the filter would rest. */
#define ZS_USEFUL_SHARE			0.9

/* Of fewer rows on the outer side nothing is gained but time of planning. */
#define ZS_USEFUL_ROWS			1000

/*
 * A table that costs no more is made before the first outer row is asked for, which comes with a
 * batch of rows: about what ten batches cost, nine of ten joins having outer rows at least.
 */
#define ZS_COST_OF_FIRST_TABLE	100.0

/*
 * Core charges a look-up by index for the pages that it reads from disk: 8 units and more, 45 us
 * here.  With all in memory it takes 9 us, so as much for each look-up and each row; and of what a
 * scan with a filter costs so much is processor time.  Of so few look-ups a loop is taken, even if
 * it costs up to so many times the hash join with the filter, where it wins in memory: 12 rows of
 * 400,000 took 0.11 ms, the scan 0.40.
 */
#define ZS_COST_IN_MEMORY_ROW	1.0
#define ZS_IN_MEMORY_SHARE		0.4
#define ZS_FEW_LOOKUPS			50.0
#define ZS_LOOKUPS_REGRET_FACTOR	2.0

/*
 * A look into a hash table that the processor's caches do not hold waits for memory, 0.1 us and
 * more.  Core leaves that out, and is right where the scan of the outer side costs much more.  What
 * the caches hold of a table, in bytes, and what a row takes beside its columns.
 */
#define ZS_COST_FAR_HASH_PROBE	0.02
#define ZS_NEAR_TABLE			(1024 * 1024)
#define ZS_HASH_ROW_OVERHEAD	(MAXALIGN(SizeofMinimalTupleHeader) + 2 * sizeof(void *))

/* ---- bounded regret --------------------------------------------------------- */

/*
 * So many times a loop's cost the hash join in its place may have, and so much more.  The factor is
 * for semijoins, whose loops are believed to stop half way; 1.5 is enough for others.  Measured
 * over the 99 queries of TPC-DS.
 */
#define ZS_REGRET_FACTOR		10.0
#define ZS_REGRET_COST			50.0

/*
 * Expressions of WITH are put in the place of their references where that costs at most this share
 * of keeping them: TPC-DS's Q23 takes twice as long at 0.99, Q39, of which one month in twelve is
 * asked for, a seventh at 0.35.
 */
#define ZS_INLINED_SHARE		0.5

/* Planning a query once more is as dear, for each pair of its tables; it is to be a tenth of it. */
#define ZS_COST_OF_PLANNING		200.0

/* So many times the cost of a merge join that sorts: a sort is not as bad as reading anew. */
#define ZS_SORT_REGRET_FACTOR	1.5

/* An inner side that costs more for each outer row is as good as read anew. */
#define ZS_CHEAP_LOOKUP_COST	100.0

/* So many times the cost of core's aggregation ours may have, and so much more. */
#define ZS_AGG_REGRET_FACTOR	1.1
#define ZS_AGG_REGRET_COST		(10 * ZS_COST_BEGIN_BATCHES)

/* With a plan below that costs less than this, as few rows by index do, there is little to win. */
#define ZS_AGG_LEAST_INPUT_COST	50.0

/* Grouping sets are made of groups by all keys if these are at most that share of the rows. */
#define ZS_SETS_GROUPS_SHARE	0.5

/*
 * Of the cost of a hash join, what a loop that returns rows in an order may take until it begins.
 * TPC-DS's Q11 compared 11,552 with 11,252 rows, both sorted or aggregated before, to return 90
 * where ten millions were expected.
 */
#define ZS_SHARE_TO_BEGIN		0.5

/*
 * So many times the cost of a loop's first rows those of a merge join may cost in its place.
 * TPC-DS's Q11, with its inputs by batches, compared 187 million pairs of rows for 100 in an order,
 * which were believed to cost 24,959; a merge join 30,169.
 */
#define ZS_ORDER_REGRET_FACTOR	2.0

/*
 * The hash join of an adaptive one is that for so many times the expected rows, and for so many at
 * least.
 */
#define ZS_ADAPTIVE_TIMES		100.0
#define ZS_ADAPTIVE_ROWS		10000.0

/*
 * An adaptive join costs this share less than the loop that it stands for, so that it takes its
 * place; in tests that tell when to turn, so much of that.
 */
#define ZS_ADAPTIVE_GAIN		0.001
#define ZS_ADAPTIVE_FORCED		0.001

/* More than any plan costs. */
#define ZS_COST_NEVER			1.0e12

/* A subquery of EXISTS is a scan if it costs at least this share of the hash table. */
#define ZS_SHARE_OF_SCAN		0.5

#endif							/* ZS_COST_CONST_H */
