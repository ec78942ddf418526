/*
 * gen_tpch_text.h
 *		What the generators of TPC-H's tables share: dates, the words of the specification, text made of them,
 *		and output of columns.
 */
#ifndef GEN_TPCH_TEXT_H
#define GEN_TPCH_TEXT_H

#include "gen_common.h"

#define POOL_SIZE		(4 << 20)
#define FIRST_ORDER_DAY 8035	/* 1992-01-01 */
#define LAST_ORDER_DAY	10440	/* 1998-08-02 */
#define CURRENT_DAY		9298	/* 1995-06-17 */

static const char *const instructions[] = {
	"DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"
};
static const char *const modes[] = {
	"REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"
};
static const char *const nouns[] = {
	"packages", "requests", "accounts", "deposits", "foxes", "ideas",
	"theodolites", "pinto beans", "instructions", "dependencies", "excuses",
	"platelets", "asymptotes", "courts", "dolphins", "multipliers",
	"sauternes", "warthogs", "frets", "dinos", "attainments", "somas",
	"Tiresias", "patterns", "forges", "braids", "frays", "warhorses",
	"dugouts", "notornis", "epitaphs", "pearls", "tithes", "waters", "orbits",
	"gifts", "sheaves", "depths", "sentiments", "decoys", "realms", "pains",
	"grouches", "escapades", "hockey players"
};
static const char *const verbs[] = {
	"sleep", "wake", "are", "cajole", "haggle", "nag", "use", "boost",
	"affix", "detect", "integrate", "maintain", "nod", "was", "lose", "sublate",
	"solve", "thrash", "promise", "engage", "hinder", "print", "x-ray",
	"breach", "eat", "grow", "impress", "mold", "poach", "serve", "run",
	"dazzle", "snooze", "doze", "unwind", "kindle", "play", "hang", "believe",
	"doubt"
};
static const char *const adjectives[] = {
	"furious", "sly", "careful", "blithe", "quick", "fluffy", "slow", "quiet",
	"ruthless", "thin", "close", "dogged", "daring", "brave", "stealthy",
	"permanent", "enticing", "idle", "busy", "regular", "final", "ironic",
	"even", "bold", "silent", "special", "pending", "unusual", "express"
};
static const char *const adverbs[] = {
	"sometimes", "always", "never", "furiously", "slyly", "carefully",
	"blithely", "quickly", "fluffily", "slowly", "quietly", "ruthlessly",
	"thinly", "closely", "doggedly", "daringly", "bravely", "stealthily",
	"permanently", "enticingly", "idly", "busily", "regularly", "finally",
	"ironically", "evenly", "boldly", "silently"
};
static const char *const prepositions[] = {
	"about", "above", "according to", "across", "after", "against", "along",
	"among", "around", "at", "before", "between", "beneath", "beside",
	"during", "except", "for", "from", "in place of", "inside", "instead of",
	"into", "of", "on", "outside", "over", "past", "since", "through",
	"throughout", "to", "toward", "under", "until", "up", "upon", "without",
	"with", "within"
};

#define PICK(words) ((words)[rnd(0, (int64_t) (sizeof(words) / sizeof(*(words))) - 1)])

static char pool[POOL_SIZE + 256];

/* Append a word and a blank; returns the new end. */
static char *
append(char *p, const char *word)
{
	size_t		len = strlen(word);

	memcpy(p, word, len);
	p[len] = ' ';
	return p + len + 1;
}

/* Fill the pool with sentences. */
static void
make_pool(void)
{
	char	   *p = pool;

	while (p < pool + POOL_SIZE)
	{
		if (chance(40))
			p = append(p, PICK(adjectives));
		p = append(p, PICK(nouns));
		if (chance(30))
		{
			p = append(p, PICK(prepositions));
			p = append(p, "the");
			p = append(p, PICK(nouns));
		}
		p = append(p, PICK(verbs));
		if (chance(50))
			p = append(p, PICK(adverbs));
		if (chance(40))
		{
			p = append(p, PICK(prepositions));
			p = append(p, "the");
			p = append(p, PICK(adjectives));
			p = append(p, PICK(nouns));
		}
		/* The mark replaces the blank after the last word. */
		p = append(p - 1, chance(80) ? "." : chance(50) ? ";" : "?");
	}
}

static void
put_int(int64_t value)
{
	out_int(value);
	out_char('|');
}

static void
put_cents(int64_t cents)
{
	out_cents(cents);
	out_char('|');
}

static void
put_text(const char *text)
{
	out_text(text);
	out_char('|');
}

static void
put_date(int64_t day)
{
	out_date(day);
	out_char('|');
}

#endif							/* GEN_TPCH_TEXT_H */
