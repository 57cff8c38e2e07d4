import { useMutation, useQueryClient } from "@tanstack/react-query";

/** Something that changes what a part of the administration shows: afterwards that is read anew, whatever came of it. */
export function useAct<A, R>(noun: string, act: (asked: A) => Promise<R>, onDone?: (done: R) => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: act,
    onSuccess: (done) => onDone?.(done),
    onSettled: () => client.invalidateQueries({ queryKey: [noun] }),
  });
}
