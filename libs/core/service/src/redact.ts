const REDACTED = '[redacted]';
const SECRET_WORD = '(?:authorization|token|secret|password|api[_-]?key|cookie|credentials)';
const SECRET_NAME = `[\\w-]*${SECRET_WORD}`;
const SECRET_FIELD = new RegExp(`("${SECRET_NAME}"\\s*:\\s*)"(?:[^"\\\\]|\\\\.)*"`, 'gi');
/** The same in JSON inside a string. */
const QUOTED_SECRET_FIELD = new RegExp(`(\\\\"${SECRET_NAME}\\\\"\\s*:\\s*)\\\\"[^"\\\\]*\\\\"`, 'gi');
const BEARER = /\b(Bearer\s+)[\w.~+/=-]{4,}/gi;
const URL_PASSWORD = /(\w:\/\/[^\s:/@"]*:)[^\s/@"]+@/g;

/** Matches in every text in which one of the four patterns matches, and in few others. */
const SUSPICIOUS = new RegExp(`${SECRET_WORD}\\\\?"\\s*:|bearer\\s|://[^\\s:/@"]*:[^\\s/@"]+@`, 'i');

/**
 * Removes the secrets from a log line: the string value of every field with the name of a secret, at any depth, and
 * bearer tokens and URL passwords in any text. A line without anything like a secret costs a single scan.
 */
export function redact(line: string): string {
  return SUSPICIOUS.test(line) ? replaceSecrets(line) : line;
}

/** `redact` without the scan that spares most lines the four replacements. */
export function replaceSecrets(line: string): string {
  return line
    .replace(SECRET_FIELD, `$1"${REDACTED}"`)
    .replace(QUOTED_SECRET_FIELD, `$1\\"${REDACTED}\\"`)
    .replace(BEARER, `$1${REDACTED}`)
    .replace(URL_PASSWORD, `$1${REDACTED}@`);
}
