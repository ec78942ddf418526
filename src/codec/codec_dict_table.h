/*-------------------------------------------------------------------------
 *
 * codec_dict_table.h
 *	  The hash table that finds the distinct values of a segment.
 *
 * It starts small so that it stays in the cache for the few values it usually holds.  Included by
 * the files that look whether a dictionary may pay and that build it.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_dict_table.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef CODEC_DICT_TABLE_H
#define CODEC_DICT_TABLE_H

#include "codec_dict.h"

/* Fewer rows are not worth a dictionary. */
#define ZS_DICT_MIN_ROWS	16

/* The smallest share of repeating strings that counts is one in so many. */
#define ZS_DICT_MIN_SHARE	8

#define FIRST_SLOTS			1024
#define MAX_ENTRIES			ZS_SEGMENT_ROWS
#define MAX_SLOTS			(2 * MAX_ENTRIES)
#define SLOT_WORDS			(8 * MAX_ENTRIES)

/* The hash table; slots hold entry + 1. */
typedef struct ZsDictTable
{
	ZsDictEntry entries[MAX_ENTRIES];
	uint32		slots[SLOT_WORDS];	/* MAX_SLOTS of them; more while integers are sorted */
	uint32		order[MAX_ENTRIES];
	uint32		nslots;
	uint32		n;
	uint64		raw_bytes;
} ZsDictTable;

static inline uint32
mix(uint64 a, uint64 b)
{
	unsigned __int128 m = (unsigned __int128) (a ^ UINT64CONST(0x9E3779B97F4A7C15)) *
		(b ^ UINT64CONST(0xD6E8FEB86659FD93));

	return (uint32) ((uint64) m ^ (uint64) (m >> 64));
}

static inline uint32
hash_bytes_of(const uint8 *p, uint32 len)
{
	uint64		a = 0;
	uint64		b = len;

	while (len > 16)
	{
		b = mix(load64(p) ^ b, load64(p + 8)) ^ (b << 32);
		p += 16;
		len -= 16;
	}
	if (len >= 8)
	{
		a = load64(p);
		b ^= load64(p + len - 8) * 3;
	}
	else if (len >= 4)
		a = load32(p) | ((uint64) load32(p + len - 4) << 32);
	else if (len > 0)
		a = p[0] | ((uint32) p[len / 2] << 8) | ((uint32) p[len - 1] << 16);
	return mix(a, b);
}

static inline void
clear_table(ZsDictTable *t)
{
	t->nslots = FIRST_SLOTS;
	t->n = 0;
	t->raw_bytes = 0;
	memset(t->slots, 0, t->nslots * sizeof(uint32));
}

/* Twice the slots. */
static inline void
grow_table(ZsDictTable *t)
{
	Assert(t->nslots * 2 <= MAX_SLOTS && t->n < t->nslots);
	t->nslots *= 2;
	memset(t->slots, 0, t->nslots * sizeof(uint32));
	for (uint32 i = 0; i < t->n; i++)
	{
		uint32		at = t->entries[i].hash & (t->nslots - 1);

		while (t->slots[at] != 0)
			at = (at + 1) & (t->nslots - 1);
		t->slots[at] = i + 1;
	}
}

/* Adds an entry in an empty slot; false when the table is full. */
static inline bool
add_entry(ZsDictTable *t, ZsDictEntry entry, uint32 at, uint32 limit)
{
	if (t->n >= limit)
		return false;
	t->entries[t->n] = entry;
	t->raw_bytes += entry.len;
	t->slots[at] = ++t->n;
	if (t->n * 2 > t->nslots && t->nslots < MAX_SLOTS)
		grow_table(t);
	return true;
}

/* The code of an integer, new or known; ZS_DICT_NO_CODE when the table is full. */
static inline uint32
code_of_int(ZsDictTable *t, uint64 value, uint32 limit)
{
	uint32		hash = mix(value, 0);
	uint32		at = hash & (t->nslots - 1);

	for (; t->slots[at] != 0; at = (at + 1) & (t->nslots - 1))
	{
		if (t->entries[t->slots[at] - 1].value == value)
			return t->slots[at] - 1;
	}
	return add_entry(t, (ZsDictEntry) {{.value = value}, 8, hash, 0}, at, limit) ? t->n - 1 :
		ZS_DICT_NO_CODE;
}

/* The same of bytes, whose hash is hash_bytes_of(). */
static inline uint32
code_of_bytes(ZsDictTable *t, const uint8 *ptr, uint32 len, uint32 hash, uint32 limit)
{
	uint32		at = hash & (t->nslots - 1);

	for (; t->slots[at] != 0; at = (at + 1) & (t->nslots - 1))
	{
		const ZsDictEntry *e = &t->entries[t->slots[at] - 1];

		if (e->hash == hash && e->len == len && bytes_equal(e->ptr, ptr, len))
			return t->slots[at] - 1;
	}
	return add_entry(t, (ZsDictEntry) {{.ptr = ptr}, len, hash, 0}, at, limit) ? t->n - 1 :
		ZS_DICT_NO_CODE;
}

static inline bool
is_set(const uint8 *flags, uint32 row)
{
	return flags != NULL && flags[row] != 0;
}

/* Do values come as integers? */
static inline bool
as_ints(const ZsColumnInput *in)
{
	return in->kind < ZS_KIND_NUMERIC || in->ints != NULL;
}

/* The hash of a row's bytes. */
static inline uint32
hash_of_row(const ZsColumnInput *in, uint32 row)
{
	return hash_bytes_of(in->bytes + in->offsets[row],
						 (uint32) (in->offsets[row + 1] - in->offsets[row]));
}

/* The code of a row's value. */
static inline uint32
code_of_row(ZsDictTable *t, const ZsColumnInput *in, uint32 row, uint32 limit)
{
	if (!as_ints(in))
		return code_of_bytes(t, in->bytes + in->offsets[row],
							 (uint32) (in->offsets[row + 1] - in->offsets[row]),
							 hash_of_row(in, row), limit);
	return code_of_int(t, (uint64) in->ints[row], limit);
}

/* codec_dict_sample.c */
extern bool zscodec_dict_may_pay(ZsDictTable *t, const ZsColumnInput *in, uint32 *hashes,
								 bool *hashed);

#endif							/* CODEC_DICT_TABLE_H */
