import { FleetError, isJsonObject } from '@hermes-fleet/protocol';
import { type Answer, type AuditReport, SeenHead } from '@hermes-fleet/protocol/api';
import type { Reader } from '@hermes-fleet/store';
import { z } from 'zod';
import type { Accepted, Broken } from './control/audit-verifier.ts';

const Seen = z.object({ heads: z.array(SeenHead) });

/** The heads of the audit that the console has seen, the highest of each file; or why it was not asked. */
export type Witness =
  | { readonly heads: readonly { readonly store: string; readonly seq: number; readonly hash: string }[] }
  | { readonly problem: string };

/** Reads what the console has answered, as JSON. Throws CONFIG_INVALID. */
export function readWitness(text: string | undefined, service: string): Witness {
  if (text === undefined || text === '') return { problem: 'its heads were not given' };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new FleetError('CONFIG_INVALID', '--witness is not JSON', { cause });
  }
  if (isJsonObject(value) && typeof value.problem === 'string') return { problem: value.problem };
  const { success, data } = Seen.safeParse(value);
  if (!success) throw new FleetError('CONFIG_INVALID', '--witness has no heads of an audit');
  return { heads: data.heads.filter((head) => head.service === service) };
}

/** Compares an audit with what the console has seen. A head that an operator accepted as lost is named, and is not broken. */
export function compareWitness(
  reader: Pick<Reader, 'read'>,
  witness: Witness,
  accepted: readonly Accepted[],
): { readonly document: Answer<typeof AuditReport>['witness']; readonly broken: Broken | undefined } {
  if ('problem' in witness)
    return { document: { state: 'not asked', reason: witness.problem }, broken: undefined };
  let broken: Broken | undefined;
  const heads = witness.heads.map(({ store, seq, hash }) => {
    const own = reader.read((db) => db.get('SELECT hash FROM audit WHERE seq = ?', seq));
    if (own?.hash === hash) return { store, seq, hash, verdict: 'ok' } as const;
    const by = accepted.find(({ published }) => published?.seq === seq && published.hash === hash);
    if (by !== undefined) return { store, seq, hash, verdict: 'accepted', accepted_in: by.seq } as const;
    const reason = 'the console has seen a record here that the audit does not have';
    broken ??= { seq, reason };
    return { store, seq, hash, verdict: 'missing' } as const;
  });
  return { document: { state: 'asked', heads }, broken };
}
