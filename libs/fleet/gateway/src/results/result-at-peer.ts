import { connectionFault, connectionRefusal } from '@hermes-fleet/a2a';
import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import { RESULT_TYPES, type ResultPart, resultUrl, SMALLER_PARTS } from '@hermes-fleet/protocol/api';
import { pathProblem } from '../contexts/delete-at-peer.ts';
import { type AskingPeer, type ContentStream, contentAtPeer, reasonIn } from './content-at-peer.ts';

export interface ResultAtPeerOptions extends AskingPeer {
  /** The task's id at the peer. */
  readonly taskId: string;
  readonly part: ResultPart;
}

/**
 * Opens a part of a result at the peer that did the task, under the address of its routes (docs/operations.md#read-a-result). The stream
 * fails if it is not complete, or if the peer stops sending. Throws NO_RESULT with the peer's reason, which is the only text of the peer
 * in an error, ARTIFACT_TOO_LARGE, TOO_MANY_STREAMS, PEER_UNREACHABLE also for a peer that says nothing, PEER_REFUSED,
 * UNSUPPORTED_OPERATION for a peer without these routes, and the signal's reason.
 */
export async function resultAtPeer({ taskId, part, ...asking }: ResultAtPeerOptions): Promise<ContentStream> {
  const { name } = asking.endpoint;
  // URL parsers remove such a part of a path, and no file has such a name.
  const problem = pathProblem(taskId) ?? (part.kind === 'file' ? pathProblem(part.path) : undefined);
  if (problem)
    throw new FleetError('NO_RESULT', `${name} cannot be asked: the path or the task's id there ${problem}`);
  return contentAtPeer(resultUrl(taskId, part).slice(1), RESULT_TYPES[part.kind], asking, {
    unreachable: (why) => unreachable(name, why),
    tooLarge: () => tooLarge(name, part),
    refused: (status, code, error) => refusedBy(name, part, status, code, error),
  });
}

function refusedBy(
  name: string,
  part: ResultPart,
  status: number,
  code: string,
  error: JsonObject,
): FleetError {
  const fault = connectionFault(connectionRefusal(code));
  if (fault) return unreachable(name, `cannot be reached: ${fault.what}: ${fault.remedy}`);
  if (code === 'PEER_UNREACHABLE') return unreachable(name, 'cannot reach the peer that did the work');
  if (code === 'NO_RESULT' || code === 'TASK_NOT_FOUND')
    return new FleetError('NO_RESULT', `${name} has no result of the task: ${reasonIn(error)}`);
  if (code === 'ARTIFACT_TOO_LARGE') return tooLarge(name, part);
  if (code === 'TOO_MANY_STREAMS')
    return new FleetError(
      code,
      `${name}, which did the task, sends this profile other results: ask again when they are read`,
      { retryAfterS: 5 },
    );
  const said = ['HTTP', status, code].filter((part) => part !== '').join(' ');
  if (status === 401 || status === 403)
    return new FleetError(
      'PEER_REFUSED',
      `${name} does not accept the token for it (${said}): check fleet.agents.${name}, and the scope read there`,
    );
  if (code === 'UNSUPPORTED_OPERATION' || [404, 405, 501].includes(status))
    return new FleetError(
      'UNSUPPORTED_OPERATION',
      `${name} or a peer of it serves no results (${said}): upgrade it, or take the branch of the task's context there`,
    );
  const retryable = [408, 429, 503, 504].includes(status);
  return new FleetError('PEER_REFUSED', `${name} does not send the result (${said})`, { retryable });
}

const unreachable = (name: string, why: string): FleetError =>
  new FleetError('PEER_UNREACHABLE', `${name}, which did the task, ${why}: ask again when it can be reached`);

const tooLarge = (name: string, { kind }: ResultPart): FleetError =>
  new FleetError(
    'ARTIFACT_TOO_LARGE',
    `the ${kind} at ${name}, which did the task, is too large to be read at once: ${SMALLER_PARTS[kind]}`,
  );
