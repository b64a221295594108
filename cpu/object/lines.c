/* SPDX-License-Identifier: MIT */
#include "cpu/object/lines.h"

#include "base/cursor.h"

struct machine {
    uint64_t address;
    uint64_t line;
    uint64_t row; /* address of the row before, */
    uint64_t was; /* and its line, or the last one known */
    int has_row;
    /* of the header */
    uint8_t step;
    int8_t line_base;
    uint8_t line_range, opcode_base;
    uint8_t lengths[256];
};

static uint64_t uleb(struct cursor *c)
{
    uint64_t v = 0;

    for (unsigned shift = 0; !c->bad; shift += 7) {
        const uint8_t byte = cursor_u8(c);

        if (shift < 64)
            v |= (uint64_t)(byte & 127) << shift;
        if (!(byte & 128))
            break;
    }
    return v;
}

static uint64_t sleb(struct cursor *c)
{
    uint64_t v = 0;
    unsigned shift = 0;
    uint8_t byte = 128;

    while (!c->bad && byte & 128) {
        byte = cursor_u8(c);
        if (shift < 64)
            v |= (uint64_t)(byte & 127) << shift;
        shift += 7;
    }
    if (shift < 64 && byte & 64)
        v |= ~(uint64_t)0 << shift;
    return v;
}

/* A row ends the one before: 1 when that one holds the address. */
static int row(struct machine *m, uint64_t address)
{
    const int found = m->has_row && address >= m->row && address < m->address;

    if (found)
        return 1;
    m->has_row = 1;
    m->row = m->address;
    if (m->line) /* 0: made by the compiler from several */
        m->was = m->line;
    return 0;
}

static void start(struct machine *m)
{
    m->address = 0;
    m->line = 1;
    m->was = 0;
    m->has_row = 0;
}

static int extended(struct machine *m, struct cursor *c, uint64_t address)
{
    enum { END = 1, SET_ADDRESS = 2 };
    const uint64_t size = uleb(c);
    const unsigned char *bytes = cursor_bytes(c, size);

    if (!bytes || !size)
        return 0;
    if (bytes[0] == SET_ADDRESS && size == 9)
        memcpy(&m->address, bytes + 1, 8);
    if (bytes[0] == END) {
        if (row(m, address))
            return 1;
        start(m);
    }
    return 0;
}

static int standard(struct machine *m, struct cursor *c, uint8_t op,
                    uint64_t address)
{
    enum { COPY = 1, PC, LINE, CONST_PC = 8, FIXED_PC };

    switch (op) {
    case COPY:
        return row(m, address);
    case PC:
        m->address += uleb(c) * m->step;
        return 0;
    case LINE:
        m->line += sleb(c);
        return 0;
    case CONST_PC:
        m->address +=
            (uint64_t)(255 - m->opcode_base) / m->line_range * m->step;
        return 0;
    case FIXED_PC:
        m->address += cursor_u16(c);
        return 0;
    default:
        for (uint8_t i = 0; i < m->lengths[op]; i++)
            uleb(c);
        return 0;
    }
}

static unsigned run(struct machine *m, struct cursor c, uint64_t address)
{
    start(m);
    while (cursor_left(&c)) {
        const uint8_t op = cursor_u8(&c);
        int found;

        if (op >= m->opcode_base) {
            const unsigned k = (unsigned)(op - m->opcode_base);

            m->address += (uint64_t)(k / m->line_range) * m->step;
            m->line +=
                (uint64_t)(int64_t)(m->line_base + (int)(k % m->line_range));
            found = row(m, address);
        } else {
            found =
                op ? standard(m, &c, op, address) : extended(m, &c, address);
        }
        if (found)
            return (unsigned)m->was;
    }
    return 0;
}

/* One table; 0 in *line: not in it. */
static void read_table(struct cursor c, unsigned *line, uint64_t address)
{
    struct machine m = {0};
    const unsigned char *program;
    uint16_t version = cursor_u16(&c);
    uint32_t header = cursor_u32(&c);

    program = c.at + (header <= cursor_left(&c) ? header : 0);
    m.step = cursor_u8(&c);
    cursor_u8(&c); /* operations of an instruction */
    cursor_u8(&c); /* is_stmt */
    m.line_base = (int8_t)cursor_u8(&c);
    m.line_range = cursor_u8(&c);
    m.opcode_base = cursor_u8(&c);
    for (unsigned i = 1; i < m.opcode_base; i++)
        m.lengths[i] = cursor_u8(&c);
    if (version != 4 || c.bad || !m.line_range || program < c.at)
        return;
    c.at = program;
    *line = run(&m, c, address);
}

unsigned lines_find(const unsigned char *bytes, size_t size, uint64_t address)
{
    struct cursor c = cursor_of(bytes, size);
    unsigned line = 0;

    while (!line && cursor_left(&c) >= 4) {
        const uint32_t length = cursor_u32(&c);
        const unsigned char *table = cursor_bytes(&c, length);

        if (table)
            read_table(cursor_of(table, length), &line, address);
    }
    return line;
}
