const MAX_DETAIL = 500;

/** Cuts a detail for the journal, a message or a log line to 500 characters. */
export const cut = (text: string): string =>
  text.length > MAX_DETAIL ? `${text.slice(0, MAX_DETAIL)}…` : text;
