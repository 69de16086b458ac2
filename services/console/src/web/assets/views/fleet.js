import { compact, counted, UNKNOWN, whole } from '../lib/format.js';
import { useNow, useResource } from '../lib/hooks.js';
import { html } from '../lib/vendor.js';
import { Ago, Bar, Figure, Health } from '../parts/basics.js';
import { Empty, Loaded } from '../parts/notices.js';
import { repositoriesOf } from './dispatch.js';
import { RouteForm } from './fleet-route.js';

/** @typedef {import('../../../http/fleet.ts').PeerRow} PeerRow */

/** Every member as it announced itself last, and who would get a task now. */
export function FleetView() {
  const fleet = useResource('/api/fleet', ['fleet']);
  return html`<div class="view-head"><h1>Fleet</h1></div>
    <${Loaded} resource=${fleet} label="the fleet" rows=${5}>
      ${(/** @type {import('../../../http/fleet.ts').FleetDocument} */ { peers }) =>
        peers.length === 0
          ? html`<${Empty} title="No profile has announced itself.">Start the fleet with <code>fleet up</code>. Each profile announces itself when it starts, and every 30 s.</${Empty}>`
          : html`<${Summary} peers=${peers} /><${Peers} peers=${peers} />`}
    </${Loaded}>
    <${RouteForm} />`;
}

/** The orchestrator first, then by name. @param {PeerRow} a @param {PeerRow} b */
const byRole = (a, b) =>
  Number(b.role === 'orchestrator') - Number(a.role === 'orchestrator') || a.name.localeCompare(b.name);

/** @param {PeerRow} peer @param {number} now */
const isSilent = (peer, now) => now - Date.parse(peer.announced_at) > peer.ttl_s * 1_000;

/** @param {PeerRow} peer @param {number} now */
const isAway = (peer, now) => !peer.ready || isSilent(peer, now);

/** @param {readonly PeerRow[]} peers @param {(peer: PeerRow) => number | null} value */
const sum = (peers, value) => peers.reduce((total, peer) => total + (value(peer) ?? 0), 0);

/** What an operator looks for first: who is away, what is down, and how much room there is. @param {{peers: readonly PeerRow[]}} props */
function Summary({ peers }) {
  const now = useNow();
  const away = peers.filter((peer) => isAway(peer, now)).map(({ name }) => name);
  const models = peers.filter(({ model_health }) => model_health !== null);
  const badModels = models
    .filter(({ model_health }) => healthy(model_health) === false)
    .map(({ name }) => name);
  const servers = peers.flatMap(({ name, mcp }) => mcp.map((server) => ({ peer: name, ...server })));
  const badServers = servers
    .filter(({ health }) => healthy(health) === false)
    .map(({ peer, name }) => `${name} of ${peer}`);
  const limit = sum(peers, ({ max_tasks }) => max_tasks);
  return html`<dl class="figures">
    <${Figure} name="Ready" value=${`${peers.length - away.length} of ${peers.length}`} bad=${away.length > 0} note=${away.length > 0 ? `not: ${away.join(', ')}` : 'every member'} />
    <${Figure} name="Models that answer" value=${`${models.length - badModels.length} of ${models.length}`} bad=${badModels.length > 0} note=${badModels.length > 0 ? `not: ${badModels.join(', ')}` : 'every model'} />
    <${Figure} name="MCP servers that answer" value=${`${servers.length - badServers.length} of ${servers.length}`} bad=${badServers.length > 0} note=${badServers.length > 0 ? `not: ${badServers.join(', ')}` : 'every server'} />
    <${Figure} name="Tasks that run" value=${`${whole(sum(peers, ({ active_tasks }) => active_tasks))} of ${whole(limit)}`} note=${`${counted(
      sum(peers, ({ queued_tasks }) => queued_tasks),
      'task',
    )} queued`} />
  </dl>`;
}

/** Who is away comes first. @param {{peers: readonly PeerRow[]}} props */
function Peers({ peers }) {
  const now = useNow();
  const sorted = peers.toSorted((a, b) => Number(isAway(b, now)) - Number(isAway(a, now)) || byRole(a, b));
  return html`<table class="grid cards peers">
    <caption class="hidden">Members of the fleet</caption>
    <thead><tr>
      <th scope="col" class="c-name">Peer</th><th scope="col" class="c-ready">Ready</th><th scope="col">Model</th><th scope="col" class="c-bar">Load of its limit</th>
      <th scope="col">MCP servers</th><th scope="col" class="c-repo">Repository</th><th scope="col" class="c-circuit">Circuit</th><th scope="col" class="num c-age">Announced</th>
    </tr></thead>
    <tbody>${sorted.map((peer) => html`<${Peer} key=${peer.name} peer=${peer} />`)}</tbody>
  </table>`;
}

/** @param {{peer: PeerRow}} props */
function Peer({ peer }) {
  const now = useNow();
  const silent = isSilent(peer, now);
  const limit = peer.max_tasks;
  const repositories = repositoriesOf(peer.tools);
  const queue =
    peer.queued_tasks === null
      ? ''
      : `${whole(peer.queued_tasks)}${peer.queue_depth === null ? '' : ` of ${whole(peer.queue_depth)}`} queued`;
  return html`<tr>
    <th scope="row" class="c-name"><strong>${peer.name}</strong><span class="sub" title=${peer.endpoint ?? ''}>${peer.role ?? UNKNOWN}${peer.standing === 'joined' ? ', joined' : ''}</span></th>
    <td class="c-ready"><${Health} ok=${peer.ready && !silent}>${silent ? 'silent' : peer.ready ? 'ready' : 'not ready'}</${Health}></td>
    <td class="wrap c-model" data-label="Model"><${Model} peer=${peer} /></td>
    <td class="c-bar" data-label="Load of its limit"><${Bar} label="Running" value=${peer.active_tasks} limit=${limit} quiet=${true} text=${limit === null ? whole(peer.active_tasks) : `${whole(peer.active_tasks)} / ${whole(limit)}`} /><span class="sub">${queue}</span></td>
    <td class="wrap c-mcp" data-label="MCP servers"><${Servers} mcp=${peer.mcp} tools=${peer.tools} /></td>
    <td class="wrap c-repo" data-label="Repository">${peer.repository === null ? UNKNOWN : html`${peer.repository.branch}<span class="sub">${cleanWord(peer.repository)}${badWord(peer.repository.health)}</span>`}${repositories.length === 0 ? null : html`<span class="sub">${repositories.join(', ')}</span>`}</td>
    <td class="c-circuit" data-label="Circuit">${peer.circuit === null ? html`<span class="unknown" title="Known with a token that may read the orchestrator">${UNKNOWN}</span>` : html`<${Health} ok=${peer.circuit === 'closed'}>${peer.circuit}</${Health}>`}</td>
    <td class="num c-age" data-label="Announced"><${Ago} at=${peer.announced_at} suffix="" /></td>
  </tr>`;
}

/** @param {{peer: PeerRow}} props */
const Model = ({ peer: { model, model_tier, model_health, context_window } }) =>
  model_tier === 'none'
    ? html`<span class="unknown">no model</span>`
    : html`<${Health} ok=${healthy(model_health)}>${model}</${Health}><span class="sub">${model_tier}, ${compact(context_window)} tokens${badWord(model_health)}</span>`;

const GOOD = ['ok', 'healthy', 'up', 'ready'];

/** @param {string | null} health @returns {boolean | null} */
const healthy = (health) => (health === null ? null : GOOD.includes(health));

/** The health in words, where it is not good. @param {string | null} health */
const badWord = (health) => (healthy(health) === false ? `, ${health}` : '');

/** @param {{clean: boolean, base_clean: boolean | null}} repository */
const cleanWord = ({ clean, base_clean }) =>
  base_clean === false ? 'base not clean' : clean ? 'clean' : 'not clean';

/** @param {{mcp: PeerRow['mcp'], tools: readonly string[]}} props */
const Servers = ({ mcp, tools }) =>
  html`${
    mcp.length === 0
      ? UNKNOWN
      : html`<ul class="servers">${mcp.map(({ name, health }) => html`<li key=${name}><${Health} ok=${healthy(health)}>${name}</${Health}>${healthy(health) === false ? html`<span class="hidden">: ${health}</span>` : null}</li>`)}</ul>`
  }<span class="sub" title=${tools.join(', ')}>${counted(tools.length - repositoriesOf(tools).length, 'tool')}</span>`;
