/* Numbers as JSON text: compared by value without losing a digit, calculated with in decimals of up to 18 digits. */
#ifndef CARILLON_CORE_LOGIC_TEXT_NUMBER_H
#define CARILLON_CORE_LOGIC_TEXT_NUMBER_H

#include "core/base/jsonscan.h"

/* −1, 0, 1. Both are JSON numbers of any size. */
int number_compare(struct slice a, struct slice b);
bool number_is_zero(struct slice a);

#define NUMBER_SIZE 48
/* `op` is one of + - * / %. NULL: done, the result is in `ret`; otherwise the reason why not. Division is rounded to
 * twelve digits behind the point, % takes the sign of a. */
const char *number_calculate(char op, struct slice a, struct slice b, char ret[NUMBER_SIZE]);

/* Length of the JSON number (without sign) that the text begins with; 0 = none. */
size_t number_scan(const char *text, size_t length);

#endif
