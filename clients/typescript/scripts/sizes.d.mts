export const LIMITS: Record<string, [source: string, most: number]>;
export function sizeOf(name: string): Promise<number>;
