/** The handshake versions that this build speaks, newest first (design 2, Versions). */
export const PROTOCOL_VERSIONS: readonly string[] = ['2.0'];
export const PROTOCOL_VERSION = '2.0';
export const HANDSHAKE_EXTENSION = 'urn:hermes-fleet:handshake:2';
export const HANDSHAKE_MEDIA_TYPE = 'application/vnd.hermes.handshake+json';

const VERSION = /^(\d+)\.(\d+)$/;

export function majorOf(version: string): number | undefined {
  const match = VERSION.exec(version);
  return match ? Number(match[1]) : undefined;
}

const order = (a: string, b: string): number => {
  const [aMajor = 0, aMinor = 0] = a.split('.').map(Number);
  const [bMajor = 0, bMinor = 0] = b.split('.').map(Number);
  return aMajor - bMajor || aMinor - bMinor;
};

/**
 * The version to speak with a peer: the highest that both sides list, else our highest of a major that both know
 * (minors are compatible: unknown fields are ignored), else undefined: there is no common language.
 */
export function negotiate(ours: readonly string[], theirs: readonly string[]): string | undefined {
  const ranked = [...ours].sort(order).reverse();
  const exact = ranked.find((version) => theirs.includes(version));
  if (exact !== undefined) return exact;
  const majors = new Set(theirs.map(majorOf));
  return ranked.find((version) => majors.has(majorOf(version)));
}

/** Whether a message of this version can be understood by who speaks `ours`. */
export function isCompatible(version: string, ours: readonly string[] = PROTOCOL_VERSIONS): boolean {
  return ours.some((spoken) => majorOf(spoken) === majorOf(version));
}
