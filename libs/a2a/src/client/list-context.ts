import { type ListedTask, ListReply, toListedTask } from './peer-task.ts';
import { type CallOptions, callPeer, type PeerEndpoint, type TransportDeps } from './transport.ts';

const PAGE_SIZE = 100;
const MAX_PAGES = 5;
/** Enough to find the message that opened a task, which a long conversation pushes back. */
const HISTORY_LENGTH = 50;

/** The peer's tasks of a context, newest pages first, with the ids of the messages in their history; at most 500. */
export async function listContext(
  deps: TransportDeps,
  peer: PeerEndpoint,
  contextId: string,
  o: CallOptions,
): Promise<ListedTask[]> {
  const listed: ListedTask[] = [];
  let pageToken = '';
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const params = {
      contextId,
      pageSize: PAGE_SIZE,
      historyLength: HISTORY_LENGTH,
      ...(pageToken === '' ? {} : { pageToken }),
    };
    const { tasks, nextPageToken } = await callPeer(deps, peer, 'ListTasks', params, ListReply, o);
    for (const task of tasks ?? []) if (task.contextId === contextId) listed.push(toListedTask(task));
    if (!nextPageToken) break;
    pageToken = nextPageToken;
  }
  return listed;
}
