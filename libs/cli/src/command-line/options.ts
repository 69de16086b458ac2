import { resolve } from 'node:path';
import { type ParseArgsConfig, parseArgs } from 'node:util';

/** A command line that cannot be understood: the message says what is wrong with it; exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Reads options strictly; what is wrong becomes a UsageError. */
export function readOptions<T extends NonNullable<ParseArgsConfig['options']>>(
  argv: readonly string[],
  options: T,
) {
  try {
    return parseArgs({ args: [...argv], options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

/** A whole number, or `fallback` when the option is absent. */
export function wholeNumber(name: string, value: string | undefined, fallback: number): number {
  if (value === undefined) return fallback;
  if (!/^-?\d+$/.test(value)) throw new UsageError(`--${name} must be a whole number, not "${value}"`);
  return Number(value);
}

/** A `name=url` of an option. */
export function namedAddress(option: string, text: string): { name: string; url: string } {
  const match = /^([\w-]+)=(.+)$/.exec(text);
  if (!match?.[1] || !match[2]) throw new UsageError(`--${option} must be name=url, not "${text}"`);
  return { name: match[1], url: match[2] };
}

/** The repository that this command belongs to. */
export const repositoryRoot = (): string => resolve(import.meta.dirname, '../../../..');
