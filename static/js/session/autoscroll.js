/* Keeps the conversation scrolled to its end while the end is in view. Otherwise the element that the reader sees at the
   top stays where it is, whatever changes above it or in its place. */

const ROUNDING = 1; // pixels: positions are fractions, heights are whole

/** Keep `box` scrolled to its end while the end is in view. `jump` is a button that scrolls to the end and is hidden there. */
export function autoscroll(box, jump) {
  let following = true;
  let endPosition = 0; // the scroll position when the end was last in view
  let lastSizes = ""; // sizes of the box and its content at that time

  /* Scroll events arrive one frame late and text may be added in between, so this reads the position when it matters.
     The reader has left the end only by scrolling up while all sizes stay the same. */
  function measure() {
    const position = box.scrollTop;
    const sizes = [box.clientWidth, box.clientHeight, box.scrollHeight].join();
    const atEnd = box.scrollHeight - box.clientHeight - position <= ROUNDING;
    following = atEnd || (following && (position >= endPosition - ROUNDING || sizes !== lastSizes));
    if (atEnd) endPosition = position;
    if (atEnd || !following) lastSizes = sizes;
    jump.hidden = following;
  }

  function scrollToEnd() {
    box.scrollTop = box.scrollHeight;
    measure();
  }

  const topOf = (element) => element.getBoundingClientRect().top - box.getBoundingClientRect().top;

  /* The first element in view, as deep as paragraphs, and its distance from the top of the box. */
  function placeOfReader() {
    const inView = (element) => element.getBoundingClientRect().bottom > box.getBoundingClientRect().top;
    const event = [...box.querySelectorAll("#events > li, #active-reply:not([hidden])")].find(inView);
    const element = [...(event?.querySelectorAll(".prose > *") ?? [])].find(inView) ?? event;
    return element && { element, top: topOf(element) };
  }

  box.addEventListener("scroll", measure);
  jump.addEventListener("click", scrollToEnd);
  // A notice, a longer draft or a resized window moves the end out of view.
  const resized = new ResizeObserver(() => following && scrollToEnd());
  for (const part of [box, ...box.children]) resized.observe(part);
  scrollToEnd();

  return {
    /**
     * Call `change`, which adds or replaces content, then scroll to the end if it was in view before. Otherwise keep
     * the place of the reader. `change` may return a function from a removed element to the one at its place.
     */
    update(change) {
      measure();
      const place = following ? null : placeOfReader();
      const successor = change();
      if (following) scrollToEnd();
      else if (place) {
        const element = place.element.isConnected ? place.element : successor?.(place.element);
        if (element) box.scrollTop += topOf(element) - place.top;
        measure();
      }
    },
    scrollToEnd,
  };
}
