import { html } from '../lib/vendor.js';
import { Considered } from './task-attempts.js';

/**
 * What `POST /fleet/route` says (docs/handshake.md#routing).
 * @typedef {import('@hermes-fleet/net/api').Read<typeof import('@hermes-fleet/protocol/api').FLEET.route>} RouteAnswer
 */

/** Where a dispatch would go, and why; before it was asked, what this place is for. @param {{answer: RouteAnswer | null}} props */
export const Route = ({ answer }) =>
  html`<div class=${`route ${answer === null ? 'route-none' : ''}`} role="status">
    ${answer === null ? html`<p class="note">The router's answer appears here: who would get the task, how each peer was judged, and what is unmet. It costs no token.</p>` : html`<${Answer} ...${answer} />`}
  </div>`;

/** @param {RouteAnswer} props */
const Answer = ({ chosen, considered, unmet, waitable }) =>
  html`<p class="route-verdict">${
    chosen !== null
      ? html`It would go to <strong>${chosen}</strong> now.`
      : waitable
        ? 'It would wait: no peer can take it now, and that may pass.'
        : 'It would be blocked, at a cost of 0 tokens.'
  }</p>
  ${unmet.length === 0 ? null : html`<ul class="list">${unmet.map(({ kind, name, detail }) => html`<li key=${`${kind} ${name}`}>${detail}</li>`)}</ul>`}
  <${Considered} considered=${considered} />`;
