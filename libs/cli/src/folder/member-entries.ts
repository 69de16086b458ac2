import { mayCall, ORCHESTRATOR, TRADER, tokenVariable, upper } from '../keys/layout.ts';
import { type Member, type Members, workingMembers } from './members.ts';
import { keysOf, putEntry, putItem, removeEntry, removeItem, type YamlFile } from './yaml-text.ts';

const CALLERS = ['fleet', 'server', 'callers'];
const AGENTS = ['fleet', 'agents'];
const ENDPOINTS = ['fleet', 'join', 'endpoints'];
const PROFILES = ['console', 'profiles'];
const TARGETS = ['scrape_configs', '0', 'static_configs'];

/** The address of a member, which its variables override. */
export const addressOf = ({ name, port }: Member): string =>
  `http://\${${upper(name)}_HOST:-127.0.0.1}:\${${upper(name)}_PORT:-${port}}`;

/** The scopes that a member gives another one (docs/configuration.md). */
function scopesOf(from: string, to: string): string {
  if (to === TRADER) return 'announce, read, trader:read, trader:decide';
  if (from === TRADER) return 'announce';
  return to === ORCHESTRATOR ? 'announce, dispatch, read, join' : 'announce, dispatch, read';
}

function callerEntry(from: string, to: string): string[] {
  // A worker speaks for its replicas. The orchestrator and the trader have none.
  const hasReplicas = from !== ORCHESTRATOR && from !== TRADER;
  const speaksFor = hasReplicas ? `, speaks_for: ["${from}-*"]` : '';
  return [`${from}: { token_env: ${tokenVariable(from, to)}, scopes: [${scopesOf(from, to)}]${speaksFor} }`];
}

const agentEntry = (from: string, to: Member): string[] => [
  `${to.name}:`,
  `  url: ${addressOf(to)}/jsonrpc`,
  `  agent_card_url: ${addressOf(to)}/.well-known/agent-card.json`,
  `  token_env: ${tokenVariable(from, to.name)}`,
];

const isReplicasOf = (name: string) => (text: string) => text.includes(`{${upper(name)}_REPLICAS:-`);
const isTargetOf = (name: string) => (text: string) => text.includes(`profile: ${name} }`);

type Change = (file: YamlFile) => YamlFile;

const ensure =
  (path: readonly string[], key: string, lines: readonly string[]): Change =>
  (file) =>
    keysOf(file, path).includes(key) ? file : putEntry(file, path, key, lines);

const inTurn = (file: YamlFile, changes: readonly Change[]): YamlFile =>
  changes.reduce((text, change) => change(text), file);

/** fleet.yaml of the service `own` with every other member that it may call as a peer, or that may call it. Nothing else changes. */
export function addPeers(file: YamlFile, own: string, members: Members): YamlFile {
  const others = workingMembers(members).filter(({ name }) => name !== own);
  const isOpen = keysOf(file, ['fleet', 'join']).includes('endpoints');
  return inTurn(
    file,
    others.flatMap((other) => [
      ...(mayCall(other.name, own) ? [ensure(CALLERS, other.name, callerEntry(other.name, own))] : []),
      ...(mayCall(own, other.name) ? [ensure(AGENTS, other.name, agentEntry(own, other))] : []),
      ...(own === ORCHESTRATOR && other.name !== TRADER && isOpen
        ? [
            (text: YamlFile) =>
              putItem(
                text,
                ENDPOINTS,
                isReplicasOf(other.name),
                `\${${upper(other.name)}_REPLICAS:-http://127.0.0.1:*}`,
              ),
          ]
        : []),
    ]),
  );
}

/** fleet.yaml without the member of this name. */
export function removePeer(file: YamlFile, name: string): YamlFile {
  const without = removeEntry(removeEntry(file, CALLERS, name), AGENTS, name);
  return removeItem(without, ENDPOINTS, isReplicasOf(name));
}

/** console.yaml with every member. */
export const addToConsole = (file: YamlFile, members: Members): YamlFile =>
  inTurn(
    file,
    workingMembers(members).map((member) =>
      ensure(PROFILES, member.name, [`${member.name}: { url: "${addressOf(member)}" }`]),
    ),
  );

export const removeFromConsole = (file: YamlFile, name: string): YamlFile =>
  removeEntry(file, PROFILES, name);

/** prometheus.yml with every member and the console as a target. */
export const addToPrometheus = (file: YamlFile, members: Members): YamlFile =>
  inTurn(
    file,
    [...workingMembers(members), members.console].map(
      ({ name, port }) =>
        (text) =>
          putItem(
            text,
            TARGETS,
            isTargetOf(name),
            `{ targets: ["${name}:${port}"], labels: { profile: ${name} } }`,
          ),
    ),
  );

export const removeFromPrometheus = (file: YamlFile, name: string): YamlFile =>
  removeItem(file, TARGETS, isTargetOf(name));

/** A file in which the default port of every member is that of the list. */
export const withPorts = (file: YamlFile, members: Members): YamlFile => ({
  ...file,
  text: [...workingMembers(members), members.console].reduce(
    (text, { name, port }) =>
      text
        .replaceAll(new RegExp(`(?<=\\{${upper(name)}_PORT:-)\\d+(?=\\})`, 'g'), String(port))
        .replaceAll(new RegExp(`(?<="${name}:)\\d+(?=")`, 'g'), String(port)),
    file.text,
  ),
});
