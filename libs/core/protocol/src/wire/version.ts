import { z } from 'zod';

/** The handshake versions that this build speaks, newest first (docs/handshake.md#versions). */
export const PROTOCOL_VERSIONS: readonly string[] = ['2.0'];
export const PROTOCOL_VERSION = '2.0';
export const HANDSHAKE_EXTENSION = 'urn:hermes-fleet:handshake:2';
export const HANDSHAKE_MEDIA_TYPE = 'application/vnd.hermes.handshake+json';

const VERSION = /^(\d{1,9})\.(\d{1,9})$/;

export const ProtocolVersion = z.string().regex(VERSION, 'must be "major.minor", e.g. "2.0"');

export function majorOf(version: string): number | undefined {
  const match = VERSION.exec(version);
  return match ? Number(match[1]) : undefined;
}

const order = (a: string, b: string): number => {
  const [aMajor = 0, aMinor = 0] = a.split('.').map(Number);
  const [bMajor = 0, bMinor = 0] = b.split('.').map(Number);
  return aMajor - bMajor || aMinor - bMinor;
};

const ranked = (versions: readonly string[]): string[] => versions.toSorted(order).reverse();

/**
 * The version to speak with a peer: the highest that both sides list, else our highest of a common major (minors are
 * compatible, because unknown fields are ignored), else undefined.
 */
export function negotiate(ours: readonly string[], theirs: readonly string[]): string | undefined {
  const ordered = ranked(ours);
  const exact = ordered.find((version) => theirs.includes(version));
  if (exact !== undefined) return exact;
  const majors = new Set(theirs.map(majorOf));
  return ordered.find((version) => majors.has(majorOf(version)));
}

/** Our highest version: the one to start with when the peer's versions are unknown. */
export function highestOf(ours: readonly string[]): string {
  return ranked(ours)[0] ?? PROTOCOL_VERSION;
}

/**
 * The version of the answer to a message of version `asked`: the same if we speak it, else our highest of that major,
 * else our highest (docs/handshake.md#versions).
 */
export function answerVersion(asked: string, ours: readonly string[]): string {
  return ours.includes(asked) ? asked : (negotiate(ours, [asked]) ?? highestOf(ours));
}

/** True when a speaker of `ours` understands messages of this version. */
export function isCompatible(version: string, ours: readonly string[] = PROTOCOL_VERSIONS): boolean {
  return ours.includes(version) || ours.some((spoken) => majorOf(spoken) === majorOf(version));
}

/** True for a later minor of a major that this build speaks: such a message may contain unknown fields and words. */
export function isNewerMinor(version: unknown): boolean {
  if (typeof version !== 'string' || PROTOCOL_VERSIONS.includes(version)) return false;
  if (majorOf(version) === undefined) return false;
  const known = PROTOCOL_VERSIONS.filter((spoken) => majorOf(spoken) === majorOf(version));
  return known.length > 0 && known.every((spoken) => order(version, spoken) > 0);
}
