import { ApiError, consoleNow, post } from '../lib/api.js';
import { withToken } from '../lib/session.js';
import { html, useState } from '../lib/vendor.js';
import { ErrorNotice } from '../parts/notices.js';
import { dispatchOf, EMPTY, Input, PRIORITIES, TIERS } from './dispatch-form.js';
import { Route } from './route-answer.js';

/** Who would get a task with these requirements now. Nothing is sent. */
export function RouteForm() {
  const [fields, setFields] = useState(EMPTY);
  const [answer, setAnswer] = useState(/** @type {any} */ (null));
  const [error, setError] = useState(/** @type {ApiError | null} */ (null));
  const [busy, setBusy] = useState(false);
  const change = (/** @type {Partial<typeof EMPTY>} */ changed) => setFields({ ...fields, ...changed });
  const ask = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setBusy(true);
    try {
      const dispatch = dispatchOf({ ...fields, brief: fields.brief || 'anything' }, consoleNow());
      const said = await withToken('asking the orchestrator where a task would go.', () =>
        post('/api/route', { dispatch }),
      );
      if (said !== undefined) setAnswer(said);
      setError(null);
    } catch (fault) {
      if (!(fault instanceof ApiError)) throw fault;
      setError(fault);
    }
    setBusy(false);
  };
  return html`<section aria-labelledby="route" class="who"><h2 id="route">Who would get a task now?</h2>
    <form class="fields" onSubmit=${ask}>
      <${Input} fields=${fields} change=${change} name="mcp" label="Required MCP servers" hint="filesystem, memory" />
      <${Input} fields=${fields} change=${change} name="capabilities" label="Required capabilities" hint="terminal, file" />
      <${Input} fields=${fields} change=${change} name="minTier" label="Smallest tier" options=${TIERS} />
      <${Input} fields=${fields} change=${change} name="priority" label="Priority" options=${PRIORITIES} />
      <div class="field ask"><button type="submit" disabled=${busy}>Ask the router</button></div>
    </form>
    ${error === null ? null : html`<${ErrorNotice} error=${error} />`}
    ${answer === null ? null : html`<${Route} answer=${answer} />`}
  </section>`;
}
