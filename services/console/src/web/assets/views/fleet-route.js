import { go, href } from '../lib/router.js';
import { html } from '../lib/vendor.js';
import { ErrorNotice } from '../parts/notices.js';
import { DispatchFields } from './dispatch-fields.js';
import { Route } from './route-answer.js';
import { keepDraft } from './send-draft.js';
import { useDispatch } from './use-dispatch.js';

/** A brief that any worker may get. */
const ANY = 'Anything.';

/** Who would get this dispatch now, and why. Nothing is sent. */
export function RouteForm() {
  const { fields, faults, answer, error, busy, change, run } = useDispatch({ brief: ANY });
  const ask = (/** @type {Event} */ event) => {
    event.preventDefault();
    run('route');
  };
  const toSend = () => {
    keepDraft({ fields: { ...fields, brief: fields.brief === ANY ? '' : fields.brief } });
    go(href(['send']));
  };
  return html`<section aria-labelledby="route" class="who"><h2 id="route">Who would get a task now?</h2>
    <div class="ask-and-answer">
      <form class="dispatch" noValidate onSubmit=${ask}>
        <${DispatchFields} fields=${fields} faults=${faults} change=${change} rows=${2} />
        ${error === null ? null : html`<${ErrorNotice} error=${error} />`}
        <div class="actions">
          <button type="submit" class="primary" disabled=${busy !== ''}>Ask the router</button>
          <button type="button" onClick=${toSend}>Take it to Send</button>
        </div>
      </form>
      <${Route} answer=${answer} />
    </div>
  </section>`;
}
