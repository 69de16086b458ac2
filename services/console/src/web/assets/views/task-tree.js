import { compact, counted, dateTime, duration, money, UNKNOWN, whole } from '../lib/format.js';
import { taskHref } from '../lib/router.js';
import { html } from '../lib/vendor.js';
import { State } from '../parts/basics.js';

/** @typedef {import('../../../http/task-page.ts').TaskNode} TaskNode */

/** @param {TaskNode} node @param {number} depth @returns {{node: TaskNode, depth: number}[]} */
const flatten = (node, depth) => [{ node, depth }, ...node.parts.flatMap((part) => flatten(part, depth + 1))];

/**
 * What the task and all its parts have spent so far. A relay books the tokens of a worker when that ends; the worker's own
 * events tell them earlier.
 * @param {TaskNode} tree
 * @returns {number}
 */
export const treeTokens = (tree) => flatten(tree, 0).reduce((total, { node }) => total + node.own_tokens, 0);

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
      <span class="sub">${modelOf(node)}</span>
    </th>
    <td><${State} state=${node.state} /></td>
    <td class="num">${compact(node.own_tokens)}<span class="sub">${node.budget_tokens === null ? '' : `of ${compact(node.budget_tokens)}`}</span></td>
    <td class="num wide">${lasted(node)}</td>
    <td class="num">${money(node.cost)}</td>
  </tr>`;

/** @param {TaskNode} node */
function modelOf({ model, model_tier, own_tokens }) {
  if (model_tier === 'none') return 'relays the task';
  if (model === null || (model_tier === null && own_tokens === 0)) return 'no model was called';
  return model_tier === null ? model : `${model}, ${model_tier}`;
}

/** The tokens of the task and all its parts by kind; nothing where no model was called. @param {{tree: TaskNode}} props */
export function Usage({ tree }) {
  const nodes = flatten(tree, 0).map(({ node }) => node);
  const known = nodes.flatMap(({ usage }) => (usage === null ? [] : [usage]));
  const without = nodes.filter(({ usage, own_tokens }) => usage === null && own_tokens > 0).length;
  /** @param {keyof import('../../../projection/project-task.ts').Usage} kind */
  const sum = (kind) => whole(known.reduce((total, usage) => total + usage[kind], 0));
  if (nodes.every(({ own_tokens }) => own_tokens === 0)) return null;
  return html`<dl class="kinds">
      <div><dt>Input</dt><dd>${sum('input_tokens')}</dd></div>
      <div><dt>Cache read</dt><dd>${sum('cache_read_tokens')}</dd></div>
      <div><dt>Cache written</dt><dd>${sum('cache_write_tokens')}</dd></div>
      <div><dt>Output</dt><dd>${sum('output_tokens')}</dd></div>
      <div><dt>of it reasoning</dt><dd>${sum('reasoning_tokens')}</dd></div>
    </dl>
    ${without === 0 ? null : html`<p class="note">Without ${counted(without, 'task')} whose events do not tell the kinds.</p>`}`;
}

/** @param {TaskNode} node */
function lasted({ started_at, ended_at }) {
  if (started_at === null) return UNKNOWN;
  if (ended_at === null) return html`<span title=${`since ${dateTime(started_at)}`}>runs</span>`;
  return duration(Date.parse(ended_at) - Date.parse(started_at));
}
