import type { RoutingDecision } from '@hermes-fleet/peers';
import { defineTool, type JsonObject, type JsonValue, type Tool, type Unmet } from '@hermes-fleet/protocol';
import { z } from 'zod';
import { cappedList, cappedText } from './capped.ts';
import { CONTRACT, handedOf } from './contract.ts';
import { partDispatch, partTask } from './part.ts';
import type { PeerWork } from './peer-work.ts';
import { needScope } from './scope.ts';

const MAX_SHOWN = 20;
const MAX_REASONS = 4;

/** `fleet_route`: where `fleet_send` would go with these requirements now, and why. Spends nothing, records nothing. */
export function routeTool(o: { readonly profile: string; readonly work: () => PeerWork }): Tool {
  return defineTool({
    name: 'fleet_route',
    description: 'Where fleet_send would go now, and why. Sends nothing.',
    inputSchema: z.strictObject({ ...CONTRACT, brief: z.string().max(200_000).optional() }),
    mutates: false,
    async run(input, { task, key }) {
      needScope(task.caller, 'read', 'dispatch');
      const asked = handedOf({ ...input, brief: input.brief || 'a part of the work' });
      const { dispatch } = partTask(task, key, o.profile, partDispatch(task, asked, asked.tokenBudget));
      const decision = await o.work().decide(dispatch);
      // Whether its caller may have it sent is not asked here: to look, it is enough to read.
      const judged = await o.work().judge(dispatch, { ...task.caller, scopes: new Set(['dispatch']) });
      return { ok: true, output: decisionView(decision, judged) };
    },
  });
}

function decisionView(
  { chosen, considered, unmet, waitable }: RoutingDecision,
  judged: readonly Unmet[],
): JsonObject {
  const goes = judged.length === 0 && chosen !== undefined;
  return {
    chosen: goes ? chosen : null,
    ...(goes ? {} : { unmet: [...judged, ...unmet].slice(0, MAX_SHOWN).map(unmetView), waitable }),
    considered: considered.slice(0, MAX_SHOWN).map(
      ({ peer, verdict, score, reasons }): JsonValue => ({
        peer: cappedText(peer, 100),
        verdict: verdict === 'chosen' && !goes ? 'eligible' : verdict,
        score: Math.round(score * 100) / 100,
        reasons: cappedList(reasons, MAX_REASONS, 200),
      }),
    ),
    ...(considered.length > MAX_SHOWN ? { not_shown: considered.length - MAX_SHOWN } : {}),
  };
}

const unmetView = ({ kind, name, detail, transient }: Unmet): JsonValue => ({
  kind,
  transient,
  name: cappedText(name, 100),
  detail: cappedText(detail, 300),
});
