/** A bound for text of a caller or a peer in an event: the bus refuses large events, and a refused event delays all others. */
const MAX_WORD = 100;

export const short = (word: string): string => word.slice(0, MAX_WORD);
