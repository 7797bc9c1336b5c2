// Styles by script. Lit's styleMap writes a style attribute at the first rendering, which the page's policy forbids;
// properties of element.style are allowed.

import { noChange } from "lit";
import { Directive, directive, type ElementPart, type PartInfo, PartType } from "lit/directive.js";

class Styled extends Directive {
  constructor(info: PartInfo) {
    super(info);
    if (info.type !== PartType.ELEMENT) throw new Error("styled() belongs into a tag, beside its attributes");
  }

  override render(_styles: Readonly<Record<string, string>>): unknown {
    return noChange;
  }

  override update(part: ElementPart, [styles]: [Readonly<Record<string, string>>]): unknown {
    const { style } = part.element as HTMLElement;
    for (const [name, value] of Object.entries(styles)) {
      if (style.getPropertyValue(name) !== value) style.setProperty(name, value);
    }
    return noChange;
  }
}

/** Sets CSS properties of an element, by their names in CSS: `<div ${styled({height: "3px"})}>`. */
export const styled = directive(Styled);
