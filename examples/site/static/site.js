// The lightbox of the gallery. Without this script the pictures are plain links.
const light = document.getElementById("light");
const pictures = [...document.querySelectorAll("[data-picture]")];
let shown = 0;

function show(index) {
  shown = (index + pictures.length) % pictures.length;
  const link = pictures[shown];
  const picture = document.getElementById("light-picture");
  picture.src = link.href;
  picture.alt = link.querySelector("img").alt;
  document.getElementById("light-caption").textContent = link.querySelector("figcaption").textContent;
  if (!light.open) light.showModal();
}

if (light) {
  pictures.forEach((link, index) => {
    link.addEventListener("click", (event) => {
      // Whoever asks for a new tab or window gets it.
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      show(index);
    });
  });
  light.addEventListener("click", (event) => {
    const { step, close } = event.target.dataset;
    if (step) show(shown + Number(step));
    else if (close !== undefined || event.target === light) light.close();
  });
  light.addEventListener("keydown", (event) => {
    if (event.key === "ArrowRight") show(shown + 1);
    if (event.key === "ArrowLeft") show(shown - 1);
  });
}
