import { resolve } from 'node:path';
import type { JsonObject } from '@hermes-fleet/protocol';

/** An invalid command line; the message says what is wrong. Ends the command with exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Throws UsageError when a command that takes no arguments got some. */
export function noArguments(command: string, positionals: readonly string[]): void {
  if (positionals.length > 0) throw new UsageError(`${command} takes no "${positionals.join(' ')}"`);
}

/** An integer, or `fallback` when the option is absent. Throws UsageError. */
export function wholeNumber(name: string, value: string | undefined, fallback: number): number {
  if (value === undefined) return fallback;
  if (!/^-?\d+$/.test(value)) throw new UsageError(`--${name} must be a whole number, not "${value}"`);
  return Number(value);
}

/** Parses a `name=url` value. Throws UsageError. */
export function namedAddress(option: string, text: string): { name: string; url: string } {
  const match = /^([\w-]+)=(.+)$/.exec(text);
  if (!match?.[1] || !match[2]) throw new UsageError(`--${option} must be name=url, not "${text}"`);
  return { name: match[1], url: match[2] };
}

/** The fields that have a value, as a JSON object. */
export function definedFields(fields: Record<string, JsonObject[string] | undefined>): JsonObject {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  );
}

/** The root of the repository that holds this command. */
export const repositoryRoot = (): string => resolve(import.meta.dirname, '../../../..');
