import { clock, counted, dateTime, duration, whole, words } from '../lib/format.js';
import { html, useState } from '../lib/vendor.js';
import { Empty } from '../parts/notices.js';
import { condensed, levelOf } from './timeline-entries.js';

/** @typedef {import('../../../http/task-page.ts').TimelineEntry} Entry */

/** Longer timelines begin with their newest entries. */
const SHOWN = 300;

/**
 * What happened, at every service that had the task, in one order.
 * @param {{entries: readonly Entry[], truncated: boolean, home: string}} props
 */
export function Timeline({ entries, truncated, home }) {
  const [every, setEvery] = useState(false);
  const [old, setOld] = useState(false);
  if (entries.length === 0)
    return html`<${Empty} title="No event of this task is known.">Its events may be older than what NATS keeps.</${Empty}>`;
  const short = condensed(entries);
  const chosen = every ? entries : short;
  const hidden = old ? 0 : Math.max(0, chosen.length - SHOWN);
  const shown = chosen.slice(hidden);
  const doubles = entries.length - short.length;
  return html`${doubles === 0 ? null : html`<label class="check every"><input type="checkbox" checked=${every} onChange=${() => setEvery(!every)} />Every event, with ${counted(doubles, 'repeated one')}</label>`}
    ${truncated ? html`<p class="note">Older entries are left out: a timeline has at most 2,000.</p>` : null}
    ${hidden > 0 ? html`<p class="note"><button type="button" class="small" onClick=${() => setOld(true)}>Show ${whole(hidden)} older entries</button></p>` : null}
    <ol class="timeline">
      ${shown.map((entry, at) => html`<${Item} key=${`${entry.at} ${entry.profile} ${entry.text} ${hidden + at}`} entry=${entry} before=${shown[at - 1]} home=${home} />`)}
    </ol>`;
}

/** @param {{entry: Entry, before: Entry | undefined, home: string}} props */
function Item({ entry, before, home }) {
  const gap = before === undefined ? 0 : Date.parse(entry.at) - Date.parse(before.at);
  const details = Object.entries(entry.data).filter(([, value]) => value !== null && value !== '');
  const text = html`<span class="what-text">${entry.text}</span>
    ${gap >= 1_000 ? html`<span class="gap" title="since the entry before">+${duration(gap)}</span>` : null}`;
  return html`<li class=${`entry entry-${levelOf(entry)}`}>
    <time datetime=${entry.at} title=${dateTime(entry.at)}>${clock(entry.at)}</time>
    <span class=${`where${entry.profile === home ? '' : ' elsewhere'}`}>${entry.profile}</span>
    ${
      details.length === 0
        ? html`<div class="what">${text}</div>`
        : html`<details class="what"><summary>${text}</summary>
            <dl><div><dt>event</dt><dd>${words(entry.type)}</dd></div>${details.map(([name, value]) => html`<div key=${name}><dt>${words(name)}</dt><dd>${plain(value)}</dd></div>`)}</dl>
          </details>`
    }
  </li>`;
}

/** @param {unknown} value */
function plain(value) {
  if (typeof value === 'number') return whole(value);
  return typeof value === 'string' ? value : JSON.stringify(value);
}
