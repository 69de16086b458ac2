import type { JsonObject } from '@hermes-fleet/protocol';
import { objectsAt, textAt, textsAt } from '../ask/read.ts';
import { columns } from '../table.ts';

/** The table of a routing decision: who was considered, the verdict, the score, and why. */
export function renderConsidered(decision: JsonObject): string[] {
  const rows = objectsAt(decision, 'considered').map((each) => [
    textAt(each, 'peer'),
    textAt(each, 'verdict'),
    textAt(each, 'verdict') === 'excluded' ? '-' : textAt(each, 'score'),
    textsAt(each, 'reasons').join('; '),
  ]);
  return rows.length === 0 ? [] : [...columns(['peer', 'verdict', 'score', 'reasons'], rows), ''];
}

/** Where it goes, or everything that stands in the way and whether waiting can help. */
export function renderVerdict(decision: JsonObject): string[] {
  if (typeof decision.chosen === 'string') return [`goes to ${decision.chosen}`];
  const unmet = objectsAt(decision, 'unmet');
  const reasons = unmet.map((each) => `  ${textAt(each, 'kind')}: ${textAt(each, 'detail')}`);
  return ['goes nowhere', ...reasons, outlookOf(decision, unmet)];
}

/** A profile waits for its peers, never for what it lacks itself. */
function outlookOf({ waitable }: JsonObject, unmet: readonly JsonObject[]): string {
  if (waitable === true) return 'This may pass: with on_blocked queue or reroute it waits.';
  if (unmet.length > 0 && unmet.every(({ transient }) => transient === true))
    return 'This may pass, and it does not wait for it: dispatch it again later.';
  return 'Waiting would not help.';
}
