import type { OnRefused, RefusedRequest } from '@hermes-fleet/a2a';
import type { FleetError } from '@hermes-fleet/protocol';
import type { ControlCode } from '@hermes-fleet/protocol/control';
import type { DecisionService, Transport } from '../control/decision-service.ts';

const SENDS: ReadonlySet<string | undefined> = new Set([
  'SendMessage',
  'SendStreamingMessage',
  'message/send',
  'message/stream',
]);
/** Methods that cannot carry a decision. */
const READS =
  /^((Get|List|Cancel|SubscribeTo|Create|Delete)[A-Z]\w*|(tasks|agent)\/.+|(list_strategies|get_strategy))$/;

/**
 * Audits requests that `/jsonrpc` refused before they reached the decision service (docs/trader.md#audit). Requests that
 * cannot be attempts at a decision are omitted.
 */
export function auditRefusals(decisions: DecisionService): OnRefused {
  return async ({ caller, text, method, error, traceparent }) => {
    if (method !== undefined && READS.test(method)) return;
    await decisions.refuse(
      { transport: transportOf(method), caller, text, traceparent },
      codeOf(error),
      error.message,
    );
  };
}

const transportOf = (method: RefusedRequest['method']): Transport => (SENDS.has(method) ? 'a2a' : 'jsonrpc');

/** Maps an error of a transport to a code of a decision. */
export function codeOf({ code, retryable }: FleetError): ControlCode {
  switch (code) {
    case 'BODY_TOO_LARGE':
      return 'payload_too_large';
    case 'FORBIDDEN':
      return 'forbidden';
    case 'STORE_UNAVAILABLE':
    case 'SHUTTING_DOWN':
      return 'store_unavailable';
    case 'METHOD_NOT_FOUND':
      return 'unsupported_action';
    case 'INTERNAL':
      return 'internal_error';
    case 'REQUEST_TIMEOUT':
      return 'invalid_payload';
    default:
      return retryable ? 'rate_limited' : 'invalid_payload';
  }
}
