import type { JsonObject } from '@hermes-fleet/protocol';
import { objectAt, objectsAt, textAt } from '../client/fields.ts';
import { callApi } from '../client/http.ts';
import { command } from '../command-line/command.ts';
import { noArguments } from '../command-line/options.ts';
import { columns, printLines } from '../command-line/output.ts';
import { findProfile, requireFleet } from '../command-line/running-fleet.ts';
import { peersUsage } from '../usage/fleet.ts';

/** `fleet peers`: prints every peer that a profile knows, with its state. */
export const peersCommand = command(peersUsage, async ({ values, positionals, stdin, stdout, print }) => {
  noArguments('peers', positionals);
  return requireFleet(async () => {
    const { target } = await findProfile(values, stdin);
    const answer = await callApi(target, '/fleet/peers');
    if (print) print(answer);
    else printLines(stdout, render(target.name, objectsAt(answer, 'peers')));
    return 0;
  });
});

const HEAD = [
  'peer',
  'standing',
  'state',
  'age',
  'tier',
  'model',
  'load',
  'circuit',
  'MCP servers',
  'address',
];

function render(profile: string, peers: readonly JsonObject[]): string[] {
  return peers.length === 0 ? [`${profile} knows no peer`] : columns(HEAD, peers.map(row));
}

function row(peer: JsonObject): string[] {
  const announce = objectAt(peer, 'announce');
  const health = Object.entries(objectAt(announce, 'mcp_health')).map(([name, state]) => `${name} ${state}`);
  const age = textAt(peer, 'age_s');
  return [
    textAt(peer, 'name'),
    textAt(peer, 'standing'),
    announce.ready === false ? `${textAt(peer, 'state')}, not ready` : textAt(peer, 'state'),
    age === '-' ? age : `${age} s`,
    textAt(announce, 'model_tier'),
    modelOf(announce),
    loadOf(peer, announce),
    textAt(peer, 'circuit'),
    health.join(', ') || '-',
    textAt(peer, 'endpoint'),
  ];
}

/** The model, and its health if that is not ok. */
function modelOf(announce: JsonObject): string {
  const model = textAt(announce, 'model');
  const health = textAt(announce, 'model_health');
  return health === 'ok' || health === '-' ? model : `${model}, ${health}`;
}

/** `running/maximum +queued`, as the peer announces it. */
function loadOf(peer: JsonObject, announce: JsonObject): string {
  if (peer.announce === null) return '-';
  const queued = Number(announce.queued_tasks ?? 0);
  const running = `${textAt(announce, 'active_tasks')}/${textAt(announce, 'max_concurrent_tasks')}`;
  return queued > 0 ? `${running} +${queued}` : running;
}
