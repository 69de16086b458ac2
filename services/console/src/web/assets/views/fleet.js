import { compact, UNKNOWN, whole } from '../lib/format.js';
import { useNow, useResource } from '../lib/hooks.js';
import { html } from '../lib/vendor.js';
import { Ago, Bar, Health } from '../parts/basics.js';
import { Empty, Loaded } from '../parts/notices.js';
import { RouteForm } from './fleet-route.js';

/** @typedef {import('../../../http/api.ts').PeerRow} PeerRow */

/** Every member as it announced itself last, and who would get a task now. */
export function FleetView() {
  const fleet = useResource('/api/fleet', ['fleet']);
  return html`<div class="view-head"><h1>Fleet</h1></div>
    <${Loaded} resource=${fleet} label="the fleet" rows=${5}>
      ${(/** @type {import('../../../http/api.ts').FleetDocument} */ { peers }) =>
        peers.length === 0
          ? html`<${Empty} title="No profile has announced itself.">Start the fleet with <code>make up</code>. Each profile announces itself when it starts, and every 30 s.</${Empty}>`
          : html`<${Peers} peers=${peers} />`}
    </${Loaded}>
    <${RouteForm} />`;
}

/** @param {{peers: readonly PeerRow[]}} props */
const Peers = ({ peers }) =>
  html`<div class="scroll" tabindex="0" role="group" aria-label="Peers">
    <table class="grid peers">
      <caption class="hidden">Members of the fleet</caption>
      <thead><tr>
        <th scope="col" class="c-name">Peer</th><th scope="col" class="c-ready">Ready</th><th scope="col">Model</th><th scope="col" class="c-bar">Load of its limit</th>
        <th scope="col">MCP servers</th><th scope="col" class="c-repo">Repository</th><th scope="col" class="c-circuit">Circuit</th><th scope="col" class="num c-age">Announced</th>
      </tr></thead>
      <tbody>${peers.map((peer) => html`<${Peer} key=${peer.name} peer=${peer} />`)}</tbody>
    </table>
  </div>`;

/** @param {{peer: PeerRow}} props */
function Peer({ peer }) {
  const now = useNow();
  const stale = now - Date.parse(peer.announced_at) > peer.ttl_s * 1_000;
  const limit = peer.max_tasks;
  const queue =
    peer.queued_tasks === null
      ? ''
      : `${whole(peer.queued_tasks)}${peer.queue_depth === null ? '' : ` of ${whole(peer.queue_depth)}`} queued`;
  return html`<tr>
    <th scope="row"><strong>${peer.name}</strong><span class="sub" title=${peer.endpoint ?? ''}>${peer.role ?? UNKNOWN}</span></th>
    <td><${Health} ok=${peer.ready && !stale}>${stale ? 'silent' : peer.ready ? 'ready' : 'not ready'}</${Health}></td>
    <td class="wrap"><${Health} ok=${healthy(peer.model_health)}>${peer.model}</${Health}><span class="sub">${peer.model_tier}, ${compact(peer.context_window)} tokens${badWord(peer.model_health)}</span></td>
    <td class="c-bar"><${Bar} label="Running" value=${peer.active_tasks} limit=${limit} quiet=${true} text=${limit === null ? whole(peer.active_tasks) : `${whole(peer.active_tasks)} / ${whole(limit)}`} /><span class="sub">${queue}</span></td>
    <td class="wrap"><${Servers} mcp=${peer.mcp} tools=${peer.tools} /></td>
    <td class="wrap">${peer.repository === null ? UNKNOWN : html`${peer.repository.branch}<span class="sub">${peer.repository.clean ? 'clean' : 'not clean'}${badWord(peer.repository.health)}</span>`}</td>
    <td>${peer.circuit === null ? html`<span class="unknown" title="Known with a token that may read the orchestrator">${UNKNOWN}</span>` : html`<${Health} ok=${peer.circuit === 'closed'}>${peer.circuit}</${Health}>`}</td>
    <td class="num"><${Ago} at=${peer.announced_at} suffix="" /></td>
  </tr>`;
}

const GOOD = ['ok', 'healthy', 'up', 'ready'];

/** @param {string | null} health @returns {boolean | null} */
const healthy = (health) => (health === null ? null : GOOD.includes(health));

/** The health in words, where it is not good. @param {string | null} health */
const badWord = (health) => (healthy(health) === false ? `, ${health}` : '');

/** @param {{mcp: PeerRow['mcp'], tools: readonly string[]}} props */
const Servers = ({ mcp, tools }) =>
  html`${
    mcp.length === 0
      ? UNKNOWN
      : html`<ul class="servers">${mcp.map(({ name, health }) => html`<li key=${name}><${Health} ok=${healthy(health)}>${name}</${Health}>${healthy(health) === false ? html`<span class="hidden">: ${health}</span>` : null}</li>`)}</ul>`
  }<span class="sub" title=${tools.join(', ')}>${tools.length} tools</span>`;
