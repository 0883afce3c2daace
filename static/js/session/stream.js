/* The reply that is arriving: the blocks that the server has rendered, then the text after them. */

/** Show a reply in `box`, whose last child `rest` holds the text that is not rendered. */
export function replyStream(box, rest) {
  let text = "";
  let blocks = []; // of each block its HTML as received, and its elements
  const received = new WeakMap(); // the HTML of each element as received, before buttons are added

  function show(first, html, length) {
    for (const [offset, markup] of html.entries()) {
      const number = first + offset;
      if (blocks[number]?.markup === markup) continue;
      const template = document.createElement("template");
      template.innerHTML = markup;
      const elements = [...template.content.children];
      for (const element of elements) received.set(element, element.outerHTML);
      const after = blocks.slice(number + 1).flatMap((block) => block.elements)[0] ?? rest;
      after.before(...elements);
      for (const element of blocks[number]?.elements ?? []) element.remove();
      blocks[number] = { markup, elements };
    }
    removeFrom(first + html.length);
    rest.textContent = text.slice(length).replace(/^\n+/, "");
  }

  function removeFrom(number) {
    for (const { elements } of blocks.splice(number)) for (const element of elements) element.remove();
  }

  const elements = () => blocks.flatMap((block) => block.elements);

  return {
    /** Show the whole text, whose first `length` characters are rendered. Blocks that are there already stay. */
    start(whole, html, length) {
      if (!blocks.length) box.replaceChildren(rest); // the page was served with the beginning of the reply
      text = whole;
      show(0, html, length);
    },

    append(piece) {
      text += piece;
      rest.append(rest.hasChildNodes() ? piece : piece.replace(/^\n+/, ""));
    },

    /** Replace the blocks from number `first` on. They cover the text up to `length`. */
    show,

    clear() {
      removeFrom(0);
      box.replaceChildren(rest);
      rest.textContent = text = "";
    },

    length: () => text.length,

    /**
     * Move the blocks into `prose`, the rendering of the finished reply, in place of its equal elements, so that they
     * stay what they are for the reader. Returns a function from an element of the stream to the one at its place.
     */
    moveInto(prose) {
      const shown = elements();
      const final = [...prose.children];
      const successors = new Map([[rest, final[Math.min(shown.length, final.length - 1)]]]);
      let same = true;
      for (const [number, element] of shown.entries()) {
        const successor = final[Math.min(number, final.length - 1)];
        same &&= number < final.length && received.get(element) === successor.outerHTML;
        if (same) successor.replaceWith(element);
        else successors.set(element, successor);
      }
      blocks = [];
      return (element) => successors.get(element);
    },
  };
}
