set(LOWER_SOURCES lower.c lower_value.c lower_wide.c lower_int.c lower_div.c lower_bits.c lower_cmp.c lower_float.c lower_round.c lower_half.c lower_sign.c lower_cvt.c)
