import { words } from '../lib/format.js';
import { html } from '../lib/vendor.js';
import { Ago } from '../parts/basics.js';

/**
 * Who was asked, and how routing judged everyone.
 * @param {{attempts: readonly import('../../../http/task-page.ts').Attempt[], ended: boolean}} props
 */
export function Attempts({ attempts, ended }) {
  if (attempts.length === 0 && !ended)
    return html`<p class="note">No peer is chosen yet. The profile may also do the task itself.</p>`;
  if (attempts.length === 0)
    return html`<p class="note">No peer was chosen: the profile did the task itself, or it ended before.</p>`;
  return html`<ol class="attempts">
    ${attempts.map(
      (attempt, at) => html`<li key=${at}>
        <p><strong>${attempt.peer}</strong>${' '}<span class="attempt-status">${attempt.status ?? 'runs'}</span>${attempt.reason === null ? '' : `: ${words(attempt.reason)}`}${' '}<span class="sub-inline"><${Ago} at=${attempt.at} /></span></p>
        <${Considered} considered=${attempt.considered} />
      </li>`,
    )}
  </ol>`;
}

/**
 * How routing judged the peers.
 * @param {{considered: readonly {peer: string, verdict: string, score: number, reasons: readonly string[]}[]}} props
 */
export const Considered = ({ considered }) =>
  considered.length === 0
    ? null
    : html`<table class="grid considered">
        <caption class="hidden">Peers, best first</caption>
        <thead><tr><th scope="col">Peer</th><th scope="col">Verdict</th><th scope="col" class="num">Score</th><th scope="col">Reasons</th></tr></thead>
        <tbody>
          ${considered.map(
            ({ peer, verdict, score, reasons }) => html`<tr key=${peer} class=${`verdict-${verdict}`}>
              <th scope="row">${peer}</th><td>${verdict}</td><td class="num">${verdict === 'excluded' ? '' : score}</td>
              <td class="reasons">${reasons.map(words).join('; ')}</td>
            </tr>`,
          )}
        </tbody>
      </table>`;
