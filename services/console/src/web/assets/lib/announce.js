/**
 * What a screen reader is told: outcomes of actions, and changes of the status. Never the rows of a list, which change all
 * the time.
 */

/** @type {(text: string) => void} */
let speak = () => {};

/** @param {string} text */
export const announce = (text) => speak(text);

/** @param {HTMLElement} region with `aria-live`. */
export function speakInto(region) {
  speak = (text) => {
    // The same words once more are only read if the text changes.
    region.textContent = region.textContent === text ? `${text}\u00a0` : text;
  };
}
