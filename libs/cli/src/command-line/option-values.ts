/** An invalid command line; the message says what is wrong. Ends the command with exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The one argument of a command. Throws UsageError with `wanted`, such as "card takes the name of one profile", for any other number. */
export function oneArgument([word, ...more]: readonly string[], wanted: string): string {
  if (word === undefined || word === '' || more.length > 0) throw new UsageError(wanted);
  return word;
}

/** An integer, in `range` if there is one; `fallback` when the option is absent. Throws UsageError. */
export function wholeNumber<T>(
  name: string,
  value: string | undefined,
  fallback: T,
  range?: readonly [least: number, most: number],
): number | T {
  if (value === undefined) return fallback;
  const number = /^-?\d+$/.test(value) ? Number(value) : Number.NaN;
  const [least, most] = range ?? [-Infinity, Infinity];
  if (number >= least && number <= most) return number;
  const bounds = range ? ` from ${least} ${most === Infinity ? 'on' : `to ${most}`}` : '';
  throw new UsageError(`--${name} must be a whole number${bounds}, not "${value}"`);
}

/** An http or https address. Throws UsageError that begins with `what`, such as `--url`. */
export function httpUrl(what: string, text: string): URL {
  const url = URL.parse(text);
  if (url && /^https?:$/.test(url.protocol)) return url;
  throw new UsageError(`${what} must be an http or https address, not "${text}"`);
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A time such as `90s`, `15m`, `2h` or `1d`, in ms; undefined for another text. */
export function msOf(text: string): number | undefined {
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * (UNITS[unit] ?? 0);
}

/** As `msOf`; `fallback` for an option that is absent. Throws UsageError. */
export function durationMs(option: string, text: string | undefined, fallback: number): number {
  const ms = text === undefined ? fallback : msOf(text);
  if (ms === undefined)
    throw new UsageError(`--${option} must be a time such as 90s, 15m or 2h, not "${text}"`);
  return ms;
}

/** Parses a `name=url` value. Throws UsageError. */
export function namedAddress(option: string, text: string): { name: string; url: string } {
  const match = /^([\w-]+)=(.+)$/.exec(text);
  if (!match?.[1] || !match[2]) throw new UsageError(`--${option} must be name=url, not "${text}"`);
  return { name: match[1], url: match[2] };
}

/** The options that name an agent that is not of the fleet, after a space, quoted for a shell; undefined for the fleet. */
export function agentOptions(values: {
  readonly url?: string | undefined;
  readonly 'token-env'?: string | undefined;
}): string | undefined {
  if (values.url === undefined) return undefined;
  const variable = values['token-env'];
  return ` --url ${quote(values.url)}${variable === undefined ? '' : ` --token-env ${quote(variable)}`}`;
}

/** Quotes a word for a POSIX shell where needed. */
export const quote = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
