import type { Ledger } from '@hermes-fleet/ledger';
import { answerVersion, type JsonObject, type SessionAnnounce, versionOf } from '@hermes-fleet/protocol';
import { announceMetadata, buildAnnounce, type SelfFacts } from './self.ts';

/** Tasks whose fresh context is remembered, so that their reply can carry the announce. */
const MAX_FRESH = 1_000;

/** What this profile says of itself, each time with the next sequence. */
export interface SelfAnnounce {
  /** From what was measured last. */
  now(): SessionAnnounce;
  /** As metadata for the reply to a task that opens a fresh context; `metadataFor` gives it again from then on. */
  remember(taskId: string): JsonObject;
  /** Undefined for a task that opened no fresh context. */
  metadataFor(taskId: string): JsonObject | undefined;
}

export interface SelfAnnounceOptions {
  /** Of this start; a UUIDv7. */
  readonly instanceId: string;
  readonly versions: readonly string[];
  readonly ledger: Pick<Ledger, 'get'>;
  readonly facts: () => Omit<SelfFacts, 'instanceId' | 'seq' | 'versions'>;
}

export function createSelfAnnounce(o: SelfAnnounceOptions): SelfAnnounce {
  const fresh = new Set<string>();
  let seq = 0;

  function now(): SessionAnnounce {
    seq += 1;
    return buildAnnounce({ ...o.facts(), versions: o.versions, instanceId: o.instanceId, seq });
  }

  function metadata(taskId: string): JsonObject {
    const record = o.ledger.get(taskId);
    const protocolVersion = answerVersion(record ? versionOf(record.dispatch) : '', o.versions);
    return announceMetadata({ ...now(), protocolVersion }, record?.contextId ?? '');
  }

  return {
    now,
    remember(taskId) {
      for (const oldest of fresh) {
        if (fresh.size < MAX_FRESH) break;
        fresh.delete(oldest);
      }
      fresh.add(taskId);
      return metadata(taskId);
    },
    metadataFor: (taskId) => (fresh.has(taskId) ? metadata(taskId) : undefined),
  };
}
