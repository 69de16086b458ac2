import { HEAD_TYPE } from '@hermes-fleet/events';
import { type CloudEvent, isJsonObject } from '@hermes-fleet/protocol';
import { ControlStatus } from '@hermes-fleet/protocol/control';
import { type Numbered, readNumbered, type Unusable } from './event.ts';
import { countIn, textIn, textsIn, timeIn } from './fields.ts';

/** A judged decision of the trader (docs/events.md#control-events). */
export interface Decision extends Numbered {
  readonly decisionId: string;
  readonly concernId: string;
  readonly action: string;
  readonly status: string;
  readonly codes: readonly string[];
  readonly caller: string;
  readonly auditSeq: number | null;
  /** The state of the concern after the decision; null where the decision says nothing of it. */
  readonly concern: Concern | null;
}

export interface Concern {
  readonly strategyId: string | null;
  readonly riskMode: string | null;
  /** Null where the event does not tell it. */
  readonly runState: 'running' | 'paused' | null;
}

const SERVICE = /^\/services\/([A-Za-z0-9_-]{1,100})$/;

export function readDecision(event: CloudEvent): Decision | Unusable {
  const status = /^dev\.hermes-fleet\.control\.([a-z]+)\.v1$/.exec(event.type)?.[1] ?? '';
  if (!ControlStatus.safeParse(status).success) return { unusable: 'an unknown type of event' };
  const service = SERVICE.exec(event.source)?.[1];
  if (service === undefined) return { unusable: 'an unknown source' };
  const numbered = readNumbered(event, service);
  if ('unusable' in numbered) return numbered;
  const { data } = event;
  const isReal = data.dry_run !== true && status !== 'rejected';
  return {
    ...numbered,
    status,
    action: textIn(data.action, 64) ?? 'none',
    decisionId: event.subject.slice(0, 256),
    concernId: textIn(data.concern_id) ?? 'unknown',
    codes: textsIn(data.codes),
    caller: textIn(data.caller) ?? 'unknown',
    auditSeq: countIn(data.audit_seq),
    concern: isReal
      ? {
          strategyId: textIn(data.to_strategy_id),
          riskMode: textIn(data.risk_mode, 32),
          runState: runStateIn(data.run_state),
        }
      : null,
  };
}

const RUN_STATES = ['running', 'paused'] as const;

const runStateIn = (value: unknown): Concern['runState'] =>
  RUN_STATES.find((state) => state === value) ?? null;

/** The head of an audit (docs/events.md#the-head-of-an-audit). */
export interface AuditHead {
  readonly service: string;
  readonly store: string;
  readonly seq: number;
  readonly hash: string;
  readonly at: number;
  /** The state of each concern; null where the head does not tell it. */
  readonly concerns: readonly (Concern & { readonly concernId: string })[] | null;
}

export function readAuditHead(event: CloudEvent, subject: string): AuditHead | Unusable {
  const [, , service = ''] = subject.split('.');
  const { store, seq, hash } = event.data;
  const at = timeIn(event.time);
  const number = countIn(seq);
  if (event.type !== HEAD_TYPE || at === null || number === null) return { unusable: 'no head of an audit' };
  if (typeof store !== 'string' || store.length > 100 || typeof hash !== 'string')
    return { unusable: 'no head of an audit' };
  if (!/^[0-9a-f]{64}$/.test(hash)) return { unusable: 'no head of an audit' };
  const concerns = Array.isArray(event.data.concerns) ? event.data.concerns.flatMap(concernIn) : null;
  return { service: service.slice(0, 100), store, seq: number, hash, at, concerns };
}

function concernIn(value: unknown): NonNullable<AuditHead['concerns']>[number][] {
  if (!isJsonObject(value)) return [];
  const concernId = textIn(value.concern_id);
  if (concernId === null) return [];
  const { strategy_id: strategyId, risk_mode: riskMode, run_state: runState } = value;
  return [
    {
      concernId,
      strategyId: textIn(strategyId),
      riskMode: textIn(riskMode, 32),
      runState: runStateIn(runState),
    },
  ];
}

/** What a head says against the highest that was seen of the same file; null if it is in order. */
export function headProblem(
  highest: Pick<AuditHead, 'seq' | 'hash' | 'at'>,
  { seq, hash, at }: Pick<AuditHead, 'seq' | 'hash' | 'at'>,
): string | null {
  if (seq === highest.seq && hash !== highest.hash) return `record ${seq} has changed`;
  // An older head that arrives late is no news.
  if (seq < highest.seq && at > highest.at) return `the head went back from ${highest.seq} to ${seq}`;
  return null;
}
