// The views of the page. Each has a folder in src/views with a view.ts, whose default export is its View; a view
// without that file is in neither the router nor the navigation.

/** A key and its effect, for the dialog that lists them. */
export type KeyHelp = readonly [keys: string, effect: string];

export interface View {
  /** The path: `/streams/:id` has the parameter `id`. */
  readonly path: string;
  /** The name of the custom element. It is given the parameters of the path as its property `params`. */
  readonly element: string;
  /** The title of the document. */
  readonly title: string;
  /** The text of the link in the navigation; absent: there is no link. */
  readonly link?: string;
  /** The place among the links. */
  readonly order: number;
  readonly keys?: readonly KeyHelp[];
  /** Loads the module that defines the element. */
  load(): Promise<unknown>;
}

export type Params = Readonly<Record<string, string>>;

const modules = import.meta.glob<View>("../views/*/view.ts", { eager: true, import: "default" });

export const views: readonly View[] = Object.values(modules).sort((a, b) => a.order - b.order);
