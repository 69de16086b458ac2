import { connectionFault, connectionRefusal } from '@hermes-fleet/a2a';
import { FleetError } from '@hermes-fleet/protocol';
import { BUNDLE_TYPE, bundleOfTaskUrl } from '@hermes-fleet/protocol/api';
import { pathProblem } from '../contexts/delete-at-peer.ts';
import { type AskingPeer, type ContentStream, contentAtPeer, reasonIn } from '../results/content-at-peer.ts';

export interface BundleAtPeerOptions extends AskingPeer {
  /** The task's id at the peer that sent it. */
  readonly taskId: string;
  readonly commit: string;
}

/**
 * Opens a bundle of a task at the orchestrator that sent the task; the endpoint has the task's token. Throws NO_RESULT,
 * TOO_MANY_STREAMS, PEER_UNREACHABLE, PEER_REFUSED, and the signal's reason.
 */
export async function bundleAtPeer({
  taskId,
  commit,
  ...asking
}: BundleAtPeerOptions): Promise<ContentStream> {
  const { name } = asking.endpoint;
  const unreachable = (why: string): FleetError =>
    new FleetError('PEER_UNREACHABLE', `${name}, which sent the task and has the checkout, ${why}`);
  const refused = (why: string): FleetError => new FleetError('PEER_REFUSED', `${name} ${why}`);
  const problem = pathProblem(taskId);
  if (problem) throw refused(`cannot be asked for the checkout: the task's id there ${problem}`);
  return contentAtPeer(bundleOfTaskUrl(taskId, commit).slice(1), BUNDLE_TYPE, asking, {
    unreachable,
    tooLarge: () => refused('sends a bundle that is too large: its configuration allows more than 1 GiB'),
    refused(status, code, error) {
      const fault = connectionFault(connectionRefusal(code));
      if (fault) return unreachable(`cannot be reached: ${fault.what}: ${fault.remedy}`);
      if (code === 'PEER_UNREACHABLE') return unreachable('cannot reach the profile that has it');
      if (code === 'NO_RESULT' || code === 'TASK_NOT_FOUND')
        return new FleetError('NO_RESULT', `${name} has no such bundle of the task: ${reasonIn(error)}`);
      const retryable = [408, 429, 503, 504].includes(status);
      const said = ['HTTP', status, code].filter((part) => part !== '').join(' ');
      return new FleetError('PEER_REFUSED', `${name} does not send the checkout (${said})`, { retryable });
    },
  });
}
