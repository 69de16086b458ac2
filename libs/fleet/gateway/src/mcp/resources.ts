import type { Ledger, TaskRecord } from '@hermes-fleet/ledger';
import type { McpResources } from '@hermes-fleet/mcp/server';
import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import type { Caller } from '@hermes-fleet/protocol/ports';
import { requireScope } from '@hermes-fleet/service';
import { readArtifact } from './artifact-resources.ts';

const JSON_TYPE = 'application/json';
const LISTED = 50;
const EVENTS = 500;
const ENDED = ['completed', 'failed', 'rejected', 'canceled'] as const;
const URI =
  /^fleet:\/\/tasks\/([^/?#]{1,256})\/(result|events|artifacts)(?:\?after=(\d{1,15})|\/([^/?#]{1,2000}))?$/;

const resultUri = (id: string): string => `fleet://tasks/${encodeURIComponent(id)}/result`;

/**
 * The resources of POST /mcp for one caller (docs/mcp.md#resources): the results, events and artifacts of its own tasks.
 * Listed are the results of ended tasks. Throws FORBIDDEN without the scope `read`, and NOT_FOUND for what the caller has not.
 */
export function fleetMcpResources(
  ledger: Pick<Ledger, 'get' | 'list' | 'events' | 'artifacts'>,
  caller: Caller,
): McpResources {
  return {
    list(cursor) {
      requireScope(caller, 'read');
      const page = ledger.list({
        caller: caller.name,
        states: ENDED,
        pageSize: LISTED,
        ...(cursor !== undefined && { pageToken: cursor }),
      });
      return {
        resources: page.tasks.map(({ id, key, state, updatedAt }) => ({
          uri: resultUri(id),
          name: `result of ${key}`,
          description: `The TASK_RESULT of a task that is ${state}`,
          mimeType: JSON_TYPE,
          annotations: { lastModified: new Date(updatedAt).toISOString() },
        })),
        ...(page.nextPageToken !== '' && { nextCursor: page.nextPageToken }),
      };
    },
    templates: () => ({
      resourceTemplates: [
        {
          uriTemplate: 'fleet://tasks/{id}/result',
          name: 'result of a task',
          description: 'The TASK_RESULT of an ended task of yours',
          mimeType: JSON_TYPE,
        },
        {
          uriTemplate: 'fleet://tasks/{id}/events{?after}',
          name: 'events of a task',
          description: `What a task of yours did, oldest first, ${EVENTS} at a time; next_after continues`,
          mimeType: JSON_TYPE,
        },
        {
          uriTemplate: 'fleet://tasks/{id}/artifacts/{artifact}',
          name: 'artifact of a task',
          description: 'Text, data or a file that a task of yours added; the tools name them in artifacts',
        },
      ],
    }),
    read(uri) {
      requireScope(caller, 'read');
      const [, id, kind, after, artifact] = URI.exec(uri) ?? [];
      if (id === undefined || (kind === 'artifacts') !== (artifact !== undefined)) throw notFound(uri);
      const task = ledger.get(decoded(id));
      if (task?.caller !== caller.name) throw notFound(uri);
      if (artifact !== undefined) {
        const contents = readArtifact(ledger, task.id, decoded(artifact), uri);
        if (contents === undefined) throw notFound(uri);
        return { contents };
      }
      const content = kind === 'events' ? eventsOf(ledger, task, Number(after ?? '0')) : task.result;
      if (content === undefined) throw notFound(uri);
      return { contents: [{ uri, mimeType: JSON_TYPE, text: JSON.stringify(content) }] };
    },
  };
}

/** The text of a task's output is in its result; its deltas are left out. */
function eventsOf(ledger: Pick<Ledger, 'events'>, { id, lastSeq }: TaskRecord, after: number): JsonObject {
  const page = ledger.events(id, after, EVENTS);
  const last = page.at(-1)?.seq ?? after;
  const events = page.filter(({ type }) => type !== 'text');
  return {
    events: events.map(({ seq, type, at, data }) => ({ seq, type, at: new Date(at).toISOString(), data })),
    next_after: last < lastSeq ? last : null,
  };
}

function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    // No task has an id that is not a valid part of an address.
    return '';
  }
}

function notFound(uri: string): FleetError {
  const words =
    'has nothing for you: the task or artifact is unknown, or the task has not ended; fleet_tasks lists your tasks';
  return new FleetError('NOT_FOUND', `${uri.slice(0, 300)} ${words}`);
}
