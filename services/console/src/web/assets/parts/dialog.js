import { html, useEffect, useId, useRef } from '../lib/vendor.js';

/**
 * A modal dialog. The browser keeps the focus inside; when it closes, what had the focus before has it again. Escape closes it.
 * @param {{title: string, close: () => void, children?: any}} props
 */
export function Dialog({ title, close, children }) {
  const element = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const id = useId();
  useEffect(() => {
    const dialog = element.current;
    const before = document.activeElement;
    dialog?.showModal();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return html`<dialog ref=${element} aria-labelledby=${id} onCancel=${(/** @type {Event} */ event) => {
    event.preventDefault();
    close();
  }}>
    <h2 id=${id}>${title}</h2>
    ${children}
  </dialog>`;
}
