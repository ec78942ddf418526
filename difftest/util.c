/*
 * util.c
 *		Random numbers, strings.
 */
#include "difftest.h"

#include <stdarg.h>
#include <time.h>

/* splitmix64 (Steele, Lea, Flood 2014), the same everywhere */

static __thread uint64_t rng_state;

void
rng_seed(uint64_t seed)
{
	/*
	 * Mixed once, so that seeds which follow each other, as those of rounds do, have streams of
	 * their own: a multiple of the increment below gives one stream, a number later each time.
	 */
	rng_state = seed;
	rng_state = rng64();
}

uint64_t
rng64(void)
{
	uint64_t	z = rng_state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

int
rnd(int lo, int hi)
{
	return lo + (int) (rng64() % (uint64_t) ((int64_t) hi - lo + 1));
}

bool
chance(int percent)
{
	return rnd(0, 99) < percent;
}

/* ---- strings of a step */

typedef struct Chunk
{
	struct Chunk *next;
	char		data[];
} Chunk;

static __thread Chunk *chunks;

char *
S(const char *format,...)
{
	va_list		args;
	va_list		again;
	int			len;
	Chunk	   *chunk;

	va_start(args, format);
	va_copy(again, args);
	len = vsnprintf(NULL, 0, format, args);
	va_end(args);
	chunk = malloc(sizeof(Chunk) + (size_t) len + 1);
	if (chunk == NULL)
		fatal("out of memory");
	vsnprintf(chunk->data, (size_t) len + 1, format, again);
	va_end(again);
	chunk->next = chunks;
	chunks = chunk;
	return chunk->data;
}

void
forget_strings(void)
{
	while (chunks != NULL)
	{
		Chunk	   *next = chunks->next;

		free(chunks);
		chunks = next;
	}
}

/* ---- growing strings */

static void
buf_reserve(Buf *buf, size_t more)
{
	if (buf->len + more + 1 <= buf->size)
		return;
	buf->size = (buf->len + more + 1) * 2;
	buf->data = realloc(buf->data, buf->size);
	if (buf->data == NULL)
		fatal("out of memory");
}

void
buf_bytes(Buf *buf, const char *bytes, size_t len)
{
	buf_reserve(buf, len);
	memcpy(buf->data + buf->len, bytes, len);
	buf->len += len;
	buf->data[buf->len] = '\0';
}

void
buf_add(Buf *buf, const char *format,...)
{
	va_list		args;
	va_list		again;
	int			len;

	va_start(args, format);
	va_copy(again, args);
	len = vsnprintf(NULL, 0, format, args);
	va_end(args);
	buf_reserve(buf, (size_t) len);
	vsnprintf(buf->data + buf->len, (size_t) len + 1, format, again);
	va_end(again);
	buf->len += (size_t) len;
}

void
buf_clear(Buf *buf)
{
	buf->len = 0;
	buf_reserve(buf, 0);
	buf->data[0] = '\0';
}

void
buf_free(Buf *buf)
{
	free(buf->data);
	memset(buf, 0, sizeof(*buf));
}

double
now_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}
