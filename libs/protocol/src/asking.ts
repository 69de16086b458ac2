/** How many questions one task may put to its caller (design 3, Asking). */
export const MAX_QUESTIONS = 5;
/** How long one may be, in characters: people read it, and every hop keeps it. */
export const MAX_QUESTION_CHARS = 8_000;
