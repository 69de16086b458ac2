import { compact, dateTime, duration, money, UNKNOWN } from '../lib/format.js';
import { taskHref } from '../lib/router.js';
import { html } from '../lib/vendor.js';
import { State } from '../parts/basics.js';

/** @typedef {import('../../../http/api.ts').TaskNode} TaskNode */

/** @param {TaskNode} node @param {number} depth @returns {{node: TaskNode, depth: number}[]} */
const flatten = (node, depth) => [{ node, depth }, ...node.parts.flatMap((part) => flatten(part, depth + 1))];

/** The task and everything that was delegated for it, with its tokens and its money. @param {{tree: TaskNode}} props */
export const Tree = ({ tree }) =>
  html`<table class="grid tree">
    <caption class="hidden">The task and its parts; a part follows the task that it belongs to</caption>
    <thead><tr>
      <th scope="col">Task</th><th scope="col">State</th>
      <th scope="col" class="num">Own tokens</th><th scope="col" class="num wide">Time</th><th scope="col" class="num">Cost</th>
    </tr></thead>
    <tbody>
      ${flatten(tree, 0).map(({ node, depth }) => html`<${Node} key=${`${node.profile}/${node.id}`} node=${node} depth=${depth} />`)}
    </tbody>
  </table>`;

/** @param {{node: TaskNode, depth: number}} props */
const Node = ({ node, depth }) =>
  html`<tr>
    <th scope="row" style=${{ paddingLeft: `${depth * 18 + (depth === 0 ? 0 : 8)}px` }}>
      ${depth > 0 ? html`<span class="branch" aria-hidden="true"></span><span class="hidden">${`Level ${depth}: `}</span>` : null}
      <a href=${taskHref(node)} title=${node.task_id}>${node.profile}</a>
      <span class="sub">${node.model ?? 'no model'}${node.model_tier === null ? '' : `, ${node.model_tier}`}</span>
    </th>
    <td><${State} state=${node.state} /></td>
    <td class="num">${compact(node.own_tokens)}<span class="sub">${node.budget_tokens === null ? '' : `of ${compact(node.budget_tokens)}`}</span></td>
    <td class="num wide">${lasted(node)}</td>
    <td class="num">${money(node.cost)}</td>
  </tr>`;

/** @param {TaskNode} node */
function lasted({ started_at, ended_at }) {
  if (started_at === null) return UNKNOWN;
  if (ended_at === null) return html`<span title=${`since ${dateTime(started_at)}`}>runs</span>`;
  return duration(Date.parse(ended_at) - Date.parse(started_at));
}
