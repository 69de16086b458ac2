import { html } from '../lib/vendor.js';

/** A sentence in place of content, and what to do. @param {{title: string, children?: any}} props */
export const Empty = ({ title, children }) =>
  html`<div class="empty"><p class="empty-title">${title}</p>${children === undefined ? null : html`<p>${children}</p>`}</div>`;

/**
 * An error beside what is still shown. @param {{error: import('../lib/api.js').ApiError, retry?: () => void, kept?: boolean}} props
 */
export const ErrorNotice = ({ error, retry, kept = false }) =>
  html`<div class="notice notice-bad" role="alert">
    <p>
      ${error.message}${' '}
      ${error.status === 0 ? 'Is it running? Look with "fleet ps", or "docker compose ps console".' : null}
      ${kept ? ' What you see below is what the console answered last.' : null}
    </p>
    ${
      error.fields.length > 0
        ? html`<ul>${error.fields.map(({ path, reason }) => html`<li><code>${path}</code> ${reason}</li>`)}</ul>`
        : null
    }
    ${retry ? html`<button type="button" class="small" onClick=${retry}>Try again</button>` : null}
  </div>`;

/** Lines of the size of what is to come. @param {{rows?: number, label: string}} props */
export const Skeleton = ({ rows = 6, label }) =>
  html`<div class="skeleton" role="status"><span class="hidden">${label}</span>
    ${Array.from({ length: rows }, (_, row) => html`<div class="skeleton-row" key=${row} aria-hidden="true"></div>`)}
  </div>`;

/**
 * The states of a document: loading, an error without anything to show, or what `children` make of the data, with a notice
 * above it if the last reading failed.
 * @param {{resource: import('../lib/hooks.js').Resource<any>, label: string, rows?: number, children: (data: any) => any}} props
 */
export function Loaded({ resource, label, rows = 6, children }) {
  const { data, error, loading, reload } = resource;
  if (loading) return html`<${Skeleton} rows=${rows} label=${`Loading ${label}`} />`;
  return html`${error ? html`<${ErrorNotice} error=${error} retry=${reload} kept=${data !== null} />` : null}
    ${data === null ? null : children(data)}`;
}
